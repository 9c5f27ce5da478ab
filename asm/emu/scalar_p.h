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

Handler choose_sop(const Choice& choice);      ///< SOP1 SOP2 SOPC and the arithmetic of SOPK: scalar_alu.cpp
Handler choose_control(const Choice& choice);  ///< SOPP, branches, calls, modes, messages: scalar_control.cpp
Handler choose_smem(const Choice& choice);     ///< scalar_memory.cpp

}  // namespace strata::emu
