#pragma once
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The handler of SOP1 SOP2 SOPK SOPC SOPP and of the clocks among SMEM, or nullptr.
Handler choose_scalar(const Choice& choice);

}  // namespace strata::emu
