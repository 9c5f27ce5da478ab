#pragma once
#include <cstring>
#include <string_view>

#include "strata/asm/emu/machine/wave.h"

// Parts that all handlers share.
namespace strata::emu {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

/// Scalar source `i` as a T of 32 or 64 bits.
template <class T>
inline T source(const Wave* wave, const Op* op, int i) {
    const ScalarFields& fields = op->scalar();
    const char* place = (fields.constant >> i & 1) ? reinterpret_cast<const char*>(fields.value + fields.src[i])
                                                   : reinterpret_cast<const char*>(wave) + fields.src[i];
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
const Op* wait_for_loads(Wave* wave, const Op* op);

}  // namespace strata::emu
