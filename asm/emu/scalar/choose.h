#pragma once
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// SOP1 SOP2 SOPK SOPC SOPP and the clocks among SMEM.
std::optional<Op> choose_scalar(const Decoded& decoded);

}  // namespace strata::emu
