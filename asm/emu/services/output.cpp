#include "strata/asm/emu/services/output.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::emu {

void Output::add(uint64_t group, const Printed& printed) {
    const size_t kept = static_cast<size_t>(std::min<uint64_t>(printed.text.size(), left()));
    if (kept) by_group_[group].append(printed.text, 0, kept);
    bytes_ += kept;
    cut_ += printed.bytes - kept;
}

std::string Output::text() const {
    std::string all;
    all.reserve(bytes_);
    for (const auto& [group, text] : by_group_) all += text;
    if (cut_) all += fmt::format("\n[{} more bytes were printed; STRATA_EMU_OUTPUT keeps {}]\n", cut_, limit_);
    return all;
}

}  // namespace strata::emu
