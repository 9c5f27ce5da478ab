#pragma once
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// VOP1 VOP2 VOPC VOP3 VOP3SD VOP3P VOPD, with DPP.
STRATA_EMU_IN_EVERY_VARIANT(std::optional<Op> choose_valu(const Decoded& decoded);)

}  // namespace strata::emu
