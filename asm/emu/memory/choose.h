#pragma once
#include "strata/asm/emu/machine/order.h"
#include "strata/asm/emu/machine/variants.h"
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// How the order of workgroups can change an atomic that returns no value, by its handler's name.
Order order_of_atomic(std::string_view mnemonic);

/// Scalar loads, stores and atomics (SMEM).
std::optional<Op> choose_smem(const Decoded& decoded);

// Vector memory; making one op of several, and the handler of a grouped op before that (HandlerSet::group, plain).
STRATA_EMU_IN_EVERY_VARIANT(std::optional<Op> choose_memory(const Decoded& decoded);  //
                            size_t group_memory(Op* ops, size_t count);               //
                            Handler plain_handler(const Op& op);)

}  // namespace strata::emu
