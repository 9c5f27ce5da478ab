#include <algorithm>
#include <cstring>

#include "strata/asm/lint/code_p.h"

namespace strata::lint {
namespace {

constexpr int kTrapThatEnds = 2;

}  // namespace

Result<const Code::Line*> Code::at(uint64_t pc) {
    if (const auto known = lines_.find(pc); known != lines_.end()) return &known->second;
    std::array<uint32_t, 3> words{};  // the longest instruction
    const size_t count = std::min<size_t>(words.size(), (text_.bytes.size() - pc) / sizeof(uint32_t));
    std::memcpy(words.data(), text_.bytes.data() + pc, count * sizeof(uint32_t));
    auto inst = isa::decode(arch_, std::span(words).first(count), wave_size_);
    if (!inst)
        return make_error(ErrorKind::Unsupported, "the bytes at {:#x} are no instruction of {}: {}", pc,
                          isa::info(arch_).name, inst.error().message);
    const Access access = access_of(arch_, *inst, wave_size_);
    return &lines_.emplace(pc, Line{*inst, access}).first->second;
}

Flow flow_of(const isa::Inst& inst, uint64_t pc) {
    const std::string_view name = inst.row->mnemonic;
    const auto to = static_cast<uint64_t>(static_cast<int64_t>(pc) + 4 + int64_t{inst.offset} * 4);
    if (name.starts_with("s_endpgm") || name == "s_code_end") return {.falls = false};
    // The wave stops there for good (AMDGPUUsage, "Trap Handler ABI").
    if (name == "s_trap" && (inst.offset & 0xff) == kTrapThatEnds) return {.falls = false};
    if (!(inst.row->flags & isa::kBranch)) return {};
    if (name == "s_branch") return {.falls = false, .target = to};
    if (name == "s_call_b64") return {.calls = true, .target = to};
    if (name == "s_swappc_b64") return {.calls = true};
    if (name.starts_with("s_cbranch_") || name.starts_with("s_subvector_loop")) {
        const bool by_register = inst.row->format != isa::Format::SOPP && inst.row->format != isa::Format::SOPK;
        if (!by_register) return {.target = to};
    }
    return {.falls = false};  // s_setpc_b64, s_rfe_b64: who knows where
}

}  // namespace strata::lint
