#pragma once
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The handler of a matrix instruction, or nullptr.
STRATA_EMU_IN_EVERY_VARIANT(Handler choose_matrix(const Choice& choice);)

}  // namespace strata::emu
