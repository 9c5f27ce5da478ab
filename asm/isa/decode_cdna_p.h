#pragma once
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// What differs from RDNA3 in the codes of a source field of CDNA2 and CDNA3 (CDNA3 ISA, "Scalar ALU Operands"): M0 is
/// 124, there is no null, and 249 announces an SDWA word.
constexpr uint16_t kCdnaM0 = 124, kSdwaCode = 249, kFlatOff = 127;

constexpr std::array<uint8_t, 512> kCdnaCodeKinds = [] {
    std::array<uint8_t, 512> result = kCodeKinds;
    result[125] = 0;
    return result;
}();

/// Whether a scalar register code (canonical, not the hardware's) can name a group of that many dwords. s102 to s105
/// are FLAT_SCRATCH and XNACK_MASK.
constexpr bool cdna_scalar_fits(uint32_t code, int dwords) {
    if (dwords == 1 || code >= code::inline_zero) return true;
    if (code == code::m0) return false;
    bool special = (code > 101 && code < code::ttmp0) || code >= code::exec_lo;
    if (dwords == 2) return !special || code % 2 == 0;
    uint32_t last = (code & ~3u) + static_cast<uint32_t>(dwords) - 1;
    return !special && (code < code::ttmp0 ? last <= 103 : last < 124);  // LLVM 19 lets s[100:103] pass
}

/// quad_perm; row_shl, row_shr, row_ror 1 to 15; wave_shl, wave_rol, wave_shr, wave_ror by one; mirrors; row_bcast:15
/// and :31; row_newbcast (CDNA3 ISA, "DPP Controls").
constexpr bool cdna_dpp_control(uint32_t ctrl) {
    if (ctrl < 0x100) return true;
    if (ctrl < 0x130) return (ctrl & 15) != 0;
    if (ctrl < 0x140) return (ctrl & 3) == 0;
    return ctrl <= 0x143 || (ctrl >= 0x150 && ctrl < 0x160);
}

/// Operations on 64-bit values know row_newbcast only.
constexpr bool cdna_dpp_wide(const Row& row) {
    for (Type type : {row.dst[0], row.src[0], row.src[1]})
        if (span_of(type) == 2) return true;
    return false;
}
constexpr bool is_newbcast(uint32_t ctrl) { return ctrl >= 0x150; }

/// The sources of VOP1, VOP2 and VOPC that SDWA may sign-extend: those whose sign it cannot change.
constexpr uint8_t sext_sources(const Row& row) {
    uint32_t sources = row.src_kind[1] && row.src[1] != Type::lanes ? 3 : 1;
    return static_cast<uint8_t>(sources & ~row.modifiers);
}

/// Conversions from 8-bit floats select in the source only.
inline bool sdwa_whole_destination(const Row& row) {
    return row.mnemonic.ends_with("p8") || row.mnemonic.ends_with("f8");
}

/// The store from LDS, which has neither address nor data register: LDS is read at M0.
constexpr bool stores_from_lds(const Row& row) {
    return row.format == Format::MUBUF && row.flags & kStore && !row.src_kind[3];
}

/// MFMA of doubles on CDNA3: the bits of blgp negate the sources.
constexpr bool blgp_negates(const Row& row) { return row.modifiers & mod::neg(7); }

}  // namespace strata::isa
