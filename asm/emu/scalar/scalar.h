#pragma once
#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/scalar/choose.h"

// Parts that the scalar handlers share.
namespace strata::emu {

/// Jumps through a register: the address is looked up, and decoded if it was not reached before. nullptr: leave the
/// wave.
const Op* jump_to(Wave* wave, const Op* op, u64 address);
/// Stops at the end of the budget; the wave will go on at `next`.
const Op* out_of_budget(Wave* wave, const Op* op, const Op* next);
/// The op that a branch leads to.
inline const Op* target(const Op* op) { return op + op->scalar().distance; }

/// The operands of an instruction.
ScalarFields resolve_scalar(const Decoded& decoded);

// Handlers of instructions with ScalarFields; nullptr: of another kind.
Handler choose_sop(const Decoded& decoded);         ///< SOP1 SOP2 SOPC and the arithmetic of SOPK: alu.cpp
Handler choose_control(const Decoded& decoded);     ///< SOPP, branches, calls, modes, messages: control.cpp
Handler choose_salu_float(const Decoded& decoded);  ///< RDNA4's scalar floats: float.cpp
Handler choose_mode(const Decoded& decoded);        ///< hardware registers, modes, messages, clocks: mode.cpp
Handler choose_barrier(const Decoded& decoded);     ///< barrier.cpp
Handler choose_fork(const Decoded& decoded);        ///< forks, subvector loops: fork.cpp

}  // namespace strata::emu
