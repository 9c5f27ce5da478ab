#pragma once
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The handler of SOP1 SOP2 SOPK SOPC SOPP, or nullptr.
Handler choose_scalar(const Choice& choice);

}  // namespace strata::emu
