#pragma once
#include "strata/asm/emu/vector/half.h"

namespace strata::emu::STRATA_EMU_VARIANT {

/// For operations that neither take nor give denormals whatever MODE says.
STRATA_EMU_INLINE float flush_single(float x) {
    return bits_of(x) & 0x7f800000 ? x : float_of(bits_of(x) & 0x80000000);
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
