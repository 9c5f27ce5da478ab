#include "strata/asm/isa/rules_p.h"

namespace strata::isa {
namespace {

constexpr std::array<uint8_t, 512> kCommonKinds = [] {
    std::array<uint8_t, 512> result{};
    auto fill = [&](size_t first, size_t last, uint8_t kind) {
        for (size_t code = first; code <= last; ++code) result[code] = kind;
    };
    fill(0, 127, kSgpr);
    fill(code::inline_zero, code::inline_minus_16, kInline);
    fill(code::shared_base, code::pops_exiting_wave_id, kInline);
    fill(code::inline_half, code::inline_inv_2pi, kInline);
    fill(code::vccz, code::scc, kInline);
    fill(code::literal, code::literal, kLiteralConstant);
    fill(code::vgpr0, code::agpr0 - 1, kVgpr | kAgpr);
    result[kDpp16Code] = kAnnounces;
    return result;
}();

constexpr std::array<bool, 512> controls_of(Family family) {
    std::array<bool, 512> known{};
    for (uint32_t ctrl = 0; ctrl < known.size(); ++ctrl) known[ctrl] = knows_dpp16(family, ctrl);
    return known;
}

constexpr Rules kRdna = [] {
    Rules rules{.kinds = kCommonKinds, .dpp16_controls = controls_of(Family::rdna3)};
    rules.kinds[kDpp8Code] = rules.kinds[kDpp8FiCode] = kAnnounces;
    return rules;
}();

constexpr Rules kRdna4 = [] {
    Rules rules = kRdna;
    rules.dual_reads_share = true;
    rules.dual_moves_share = true;
    return rules;
}();

/// s102 to s105 are FLAT_SCRATCH and XNACK_MASK; LLVM 19 lets s[100:103] pass. M0 is 124 and there is no null (CDNA3
/// ISA, "Scalar ALU Operands").
constexpr Rules kCdna = [] {
    Rules rules{.kinds = kCommonKinds,
                .m0 = 124,
                .saddr_off = 127,
                .sgprs = 102,
                .groups_end = 104,
                .constant_bus = 1,
                .half_registers = false,
                .even_groups = true,
                .cmpx_has_exec = false,
                .dpp8 = false,
                .dpp16_controls = controls_of(Family::cdna3),
                .dpp16_of_wide = false};
    rules.kinds[kSdwaCode] = kAnnounces;
    rules.kinds[rules.m0] = kSgpr | kRenamed;
    rules.kinds[code::m0] = 0;
    rules.spans[static_cast<size_t>(Type::lanes)] = 2;
    return rules;
}();

}  // namespace

const Rules& rules(Family family) { return is_cdna(family) ? kCdna : family == Family::rdna4 ? kRdna4 : kRdna; }

}  // namespace strata::isa
