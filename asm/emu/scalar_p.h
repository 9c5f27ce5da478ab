#pragma once
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "strata/asm/emu/wave_p.h"

// What the scalar handlers share.
namespace strata::emu {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

/// MODE of gfx9: vector instructions add M0's index to register numbers; or do nothing; the depth of the fork stack.
constexpr u32 kGprIndex = 1u << 27, kVskip = 1u << 28, kForkDepth = 29;

/// Scalar source `i` as a T of 32 or 64 bits.
template <class T>
inline T source(const Wave* wave, const Op* op, int i) {
    const char* place = (op->constant >> i & 1) ? reinterpret_cast<const char*>(op->value + op->src[i])
                                                : reinterpret_cast<const char*>(wave) + op->src[i];
    T value;
    memcpy(&value, place, sizeof value);
    return value;
}

template <class T>
inline T at(const Wave* wave, uint32_t place) {
    T value;
    memcpy(&value, reinterpret_cast<const char*>(wave) + place, sizeof value);
    return value;
}

template <class T>
inline void put(Wave* wave, uint32_t place, T value) {
    memcpy(reinterpret_cast<char*>(wave) + place, &value, sizeof value);
}

/// A row of a table of handlers, found by mnemonic.
struct NamedHandler {
    std::string_view mnemonic;
    Handler run;
};

/// Does nothing; the Program leaves such instructions out where no branch leads to them.
const Op* nop(Wave* wave, const Op* op);
/// A wait for vector memory: on hardware another wave runs now; here too, so that waves walk through memory together.
/// `aux` is how many instructions of its turn a wave runs first, where it walks well alone.
const Op* wait_for_loads(Wave* wave, const Op* op);

/// Jumps through a register: the address is looked up, and decoded if it was not reached before. nullptr: leave the
/// wave.
const Op* jump_to(Wave* wave, const Op* op, u64 address);
/// Stops at the end of the budget; the wave will go on at `next`.
const Op* out_of_budget(Wave* wave, const Op* op, const Op* next);
inline u64 next_pc(const Op* op) { return op->value[2] | u64{op->value[3]} << 32; }

Handler choose_sop(const Choice& choice);         ///< SOP1 SOP2 SOPC and the arithmetic of SOPK: scalar_alu.cpp
Handler choose_control(const Choice& choice);     ///< SOPP, branches, calls, modes, messages: scalar_control.cpp
Handler choose_smem(const Choice& choice);        ///< scalar_memory.cpp
Handler choose_salu_float(const Choice& choice);  ///< RDNA4's scalar floats: scalar_float.cpp
Handler choose_mode(const Choice& choice);        ///< hardware registers, modes, messages, clocks: scalar_mode.cpp
Handler choose_barrier(const Choice& choice);     ///< scalar_barrier.cpp
Handler choose_fork(const Choice& choice);        ///< forks, subvector loops: scalar_fork.cpp

}  // namespace strata::emu
