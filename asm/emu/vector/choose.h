#pragma once
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The handler of a vector-ALU instruction, or nullptr.
STRATA_EMU_IN_EVERY_VARIANT(Handler choose_valu(const Choice& choice);)

}  // namespace strata::emu
