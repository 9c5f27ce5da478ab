#include "strata/asm/isa/rules_p.h"

namespace strata::isa {
namespace {

constexpr std::array<uint8_t, 512> common_kinds = [] {
    std::array<uint8_t, 512> result{};
    auto fill = [&](size_t first, size_t last, uint8_t kind) {
        for (size_t code = first; code <= last; ++code) result[code] = kind;
    };
    fill(0, 127, kSgpr);
    fill(128, 208, kInline);  // 0 to 64, -1 to -16
    fill(235, 239, kInline);  // apertures, pops_exiting_wave_id
    fill(240, 248, kInline);  // +-0.5 to +-4.0, 1/(2 pi)
    fill(251, 253, kInline);  // vccz, execz, scc
    fill(255, 255, kLiteralConstant);
    fill(256, 511, kVgpr | kAgpr);
    result[kDpp16Code] = kAnnounces;
    return result;
}();

/// quad_perm, row_shl, row_shr, row_ror 1 to 15, mirrors, row_share, row_xmask (RDNA3 ISA, "DPP16 Controls").
bool rdna_dpp_control(const Row&, uint32_t ctrl) {
    if (ctrl < 0x100) return true;
    if (ctrl < 0x130) return (ctrl & 15) != 0;
    return ctrl == 0x140 || ctrl == 0x141 || (ctrl >= 0x150 && ctrl < 0x170);
}

/// quad_perm; row_shl, row_shr, row_ror 1 to 15; wave_shl, wave_rol, wave_shr, wave_ror by one; mirrors; row_bcast:15
/// and :31; row_newbcast (CDNA3 ISA, "DPP Controls").
bool cdna_dpp_control(const Row& row, uint32_t ctrl) {
    bool newbcast = ctrl >= 0x150 && ctrl < 0x160;
    if (newbcast || cdna_dpp_wide(row)) return newbcast;
    if (ctrl < 0x100) return true;
    if (ctrl < 0x130) return (ctrl & 15) != 0;
    return ctrl < 0x140 ? (ctrl & 3) == 0 : ctrl <= 0x143;
}

constexpr Rules rdna = [] {
    Rules rules{.kinds = common_kinds, .dpp_control = rdna_dpp_control};
    rules.kinds[kDpp8Code] = rules.kinds[kDpp8FiCode] = kAnnounces;
    return rules;
}();

/// s102 to s105 are FLAT_SCRATCH and XNACK_MASK; LLVM 19 lets s[100:103] pass. M0 is 124 and there is no null (CDNA3
/// ISA, "Scalar ALU Operands").
constexpr Rules cdna = [] {
    Rules rules{.kinds = common_kinds,
                .m0 = 124,
                .saddr_off = 127,
                .sgprs = 102,
                .groups_end = 104,
                .constant_bus = 1,
                .half_registers = false,
                .even_groups = true,
                .cmpx_has_exec = false,
                .dpp8 = false,
                .dpp_control = cdna_dpp_control};
    rules.kinds[kSdwaCode] = kAnnounces;
    rules.kinds[rules.m0] = kSgpr | kRenamed;
    rules.kinds[code::m0] = 0;
    rules.spans[static_cast<size_t>(Type::lanes)] = 2;
    return rules;
}();

}  // namespace

const Rules& rules(Family family) { return is_cdna(family) ? cdna : rdna; }

}  // namespace strata::isa
