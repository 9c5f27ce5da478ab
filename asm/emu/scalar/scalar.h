#pragma once
#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/scalar/choose.h"

// What the scalar handlers share.
namespace strata::emu {

/// Jumps through a register: the address is looked up, and decoded if it was not reached before. nullptr: leave the
/// wave.
const Op* jump_to(Wave* wave, const Op* op, u64 address);
/// Stops at the end of the budget; the wave will go on at `next`.
const Op* out_of_budget(Wave* wave, const Op* op, const Op* next);
inline u64 next_pc(const Op* op) { return op->value[2] | u64{op->value[3]} << 32; }

Handler choose_sop(const Choice& choice);         ///< SOP1 SOP2 SOPC and the arithmetic of SOPK: alu.cpp
Handler choose_control(const Choice& choice);     ///< SOPP, branches, calls, modes, messages: control.cpp
Handler choose_salu_float(const Choice& choice);  ///< RDNA4's scalar floats: float.cpp
Handler choose_mode(const Choice& choice);        ///< hardware registers, modes, messages, clocks: mode.cpp
Handler choose_barrier(const Choice& choice);     ///< barrier.cpp
Handler choose_fork(const Choice& choice);        ///< forks, subvector loops: fork.cpp

}  // namespace strata::emu
