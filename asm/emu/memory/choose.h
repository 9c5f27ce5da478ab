#pragma once
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The handler of a scalar load, store or atomic (SMEM), or nullptr.
Handler choose_smem(const Choice& choice);

// The handler of a vector memory instruction, or nullptr; making one op of several, and the handler of a grouped op before
// that (HandlerSet::group, plain).
STRATA_EMU_IN_EVERY_VARIANT(Handler choose_memory(const Choice& choice);  //
                            size_t group_memory(Op* ops, size_t count);   //
                            Handler plain_handler(const Op& op);)

}  // namespace strata::emu
