#pragma once
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// WMMA SWMMAC MFMA SMFMAC.
STRATA_EMU_IN_EVERY_VARIANT(std::optional<Op> choose_matrix(const Decoded& decoded);)

}  // namespace strata::emu
