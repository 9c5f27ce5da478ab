#pragma once
#include "strata/asm/emu/vector/run.h"
#include "strata/asm/isa/dpp.h"

// The parts of execute() for CDNA alone: sub-dword addressing and DPP across the rows of a wave64.
namespace strata::emu::STRATA_EMU_VARIANT {

struct SubDword {
    uint32_t shift, width;
};
STRATA_EMU_INLINE SubDword sub_dword(uint32_t select) {
    if (select < isa::Sdwa::word0) return {8 * select, 8};
    return {select == isa::Sdwa::word1 ? 16u : 0u, select == isa::Sdwa::dword ? 32u : 16u};
}

/// The selected part of source i, extended by zeros or its sign.
inline void select_sub_dword(const Op* op, int i, const uint32_t* from, uint32_t* to) {
    const SubDword part = sub_dword(op->vector().sub_dword >> (sdwa_bit::kSource + 3 * i) & 7);
    const uint32_t left = 32 - part.width - part.shift, right = 32 - part.width;
    const U32 top = load(from) << left;
    store(to, op->vector().sub_dword >> (sdwa_bit::kSignExtend + i) & 1
                  ? bits(as_signed(top) >> static_cast<int32_t>(right))
                  : top >> right);
}

/// The result in its place of the dword; `old` is what the register holds.
STRATA_EMU_INLINE U32 place_sub_dword(const Op* op, const U32& value, const U32& old) {
    const SubDword part = sub_dword(op->vector().sub_dword & 7);
    if (part.width == 32) return value;
    const uint32_t right = 32 - part.width, field = ~0u >> right << part.shift;
    const uint32_t unused = op->vector().sub_dword >> sdwa_bit::kUnused & 3;
    if (unused == isa::Sdwa::sign_extend)
        return bits(as_signed(value << right) >> static_cast<int32_t>(right)) << part.shift;
    const U32 placed = value << part.shift & field;
    return unused == isa::Sdwa::preserve ? placed | (old & ~field) : placed;
}

/// The lane that `lane` of a wave64 reads under a control that leaves the rows, or -1 (CDNA3 ISA, "DPP").
STRATA_EMU_INLINE int wave_dpp_source(uint32_t control, int lane) {
    switch (control & 0x1ff) {
        case isa::dpp16::wave_shl: return lane + 1 < 64 ? lane + 1 : -1;
        case isa::dpp16::wave_rol: return (lane + 1) & 63;
        case isa::dpp16::wave_shr: return lane - 1;
        case isa::dpp16::wave_ror: return (lane - 1) & 63;
        case isa::dpp16::row_bcast15: return lane < 16 ? -1 : (lane & ~15) - 1;
        default: return lane < 32 ? -1 : 31;  // row_bcast:31
    }
}

/// apply_dpp() for such a control; `from` are all 64 lanes as they were before the instruction.
inline void apply_wave_dpp(const Wave* wave, const Op* op, const uint32_t* from, uint32_t* to, int half,
                           uint32_t* live) {
    const uint32_t control = op->vector().dpp;
    const uint64_t exec = wave->exec();
    uint32_t good = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const int source = wave_dpp_source(control, kLanes * half + lane);
        const bool valid = source >= 0 && exec >> source & 1;
        to[lane] = valid ? from[source] : 0;
        good |= uint32_t{valid} << lane;
    }
    if (!(control & dpp_bit::kBoundCtrl)) *live &= good;
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
