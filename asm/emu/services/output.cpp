#include "strata/asm/emu/services/output.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::emu {

void Output::add(uint64_t group, std::string_view text) {
    const size_t kept = static_cast<size_t>(std::min<uint64_t>(text.size(), limit_ - bytes_));
    by_group_[group] += text.substr(0, kept);
    bytes_ += kept;
    cut_ += text.size() - kept;
}

std::string Output::text() const {
    std::string all;
    all.reserve(bytes_);
    for (const auto& [group, text] : by_group_) all += text;
    if (cut_) all += fmt::format("\n[{} more bytes were printed; STRATA_EMU_OUTPUT keeps {}]\n", cut_, limit_);
    return all;
}

}  // namespace strata::emu
