#pragma once
// HIP's functions for the host side of a program (see program.h): one work-item runs at a time, so atomics are plain.
#include "program.h"

void __syncthreads();
inline void __threadfence() {}

inline int lane_id() { return programs::lane(); }
inline uint64_t ballot(bool condition) {
    programs::Gathered all = programs::gather(condition);
    uint64_t bits = 0;
    for (int i = 0; i < 64; ++i) bits |= (all.lanes >> i & 1 ? all.values[i] : 0) << i;
    return bits;
}
template <class T>
T __shfl(T value, int source, int width = WAVE) {
    return programs::from_lane(value, (programs::lane() & ~(width - 1)) + (source & (width - 1)));
}
template <class T>
T __shfl_xor(T value, int mask, int width = WAVE) {
    int self = programs::lane(), source = self ^ mask;
    return programs::from_lane(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}
template <class T>
T __shfl_up(T value, unsigned delta, int width = WAVE) {
    int self = programs::lane(), source = self - static_cast<int>(delta);
    return programs::from_lane(value, source < (self & ~(width - 1)) ? self : source);
}
template <class T>
T __shfl_down(T value, unsigned delta, int width = WAVE) {
    int self = programs::lane(), source = self + static_cast<int>(delta);
    return programs::from_lane(value, (self & (width - 1)) + static_cast<int>(delta) >= width ? self : source);
}

/// Sums of atomics wrap: integers as their unsigned type.
template <class T>
auto wrapping(T value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<std::make_unsigned_t<T>>(value);
    else
        return value;
}

#define PROGRAMS_ATOMIC(name, expression)         \
    template <class T>                            \
    T name(T* at, std::type_identity_t<T> with) { \
        T old = *at;                              \
        *at = static_cast<T>(expression);         \
        return old;                               \
    }
PROGRAMS_ATOMIC(atomicAdd, wrapping(old) + wrapping(with))
PROGRAMS_ATOMIC(atomicSub, wrapping(old) - wrapping(with))
PROGRAMS_ATOMIC(atomicMax, old < with ? with : old)
PROGRAMS_ATOMIC(atomicMin, with < old ? with : old)
PROGRAMS_ATOMIC(atomicAnd, old& with)
PROGRAMS_ATOMIC(atomicOr, old | with)
PROGRAMS_ATOMIC(atomicXor, old ^ with)
PROGRAMS_ATOMIC(atomicExch, with)
PROGRAMS_ATOMIC(atomicInc, old >= with ? 0 : old + 1)
PROGRAMS_ATOMIC(atomicDec, old == 0 || old > with ? with : old - 1)
#undef PROGRAMS_ATOMIC
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> with) {
    T old = *at;
    if (old == expected) *at = with;
    return old;
}
template <class T>
T atomic_load(T* at) {
    return *at;
}
template <class T>
void atomic_store(T* at, std::type_identity_t<T> value) {
    *at = value;
}

template <class T>
T min(T x, T y) {
    return y < x ? y : x;
}
template <class T>
T max(T x, T y) {
    return x < y ? y : x;
}
template <class To, class From>
To bits_as(From value) {
    return std::bit_cast<To>(value);
}
