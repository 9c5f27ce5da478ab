#pragma once
#include <cstddef>
#include <cstdint>

#include "strata/asm/emu/machine/wave.h"

// Vectors of the handlers: one half of a wave64, or a whole wave32, is 32 lanes of a dword. The same source is compiled
// once for each host instruction set. STRATA_EMU_VARIANT names the namespace, so that no code built for a wide host is
// shared with a narrow one. Everything here is therefore force-inlined or lives in that namespace.
#ifndef STRATA_EMU_VARIANT
#define STRATA_EMU_VARIANT portable
#endif
#define STRATA_EMU_INLINE inline __attribute__((always_inline))
#define STRATA_LAMBDA_INLINE __attribute__((always_inline))

/// Ends a handler by running another one instead.
#if defined(__clang__)
#define STRATA_EMU_TAIL(...) [[clang::musttail]] return __VA_ARGS__
#else
#define STRATA_EMU_TAIL(...) return __VA_ARGS__
#endif

#if defined(__clang__)
#define STRATA_EMU_LANE_LOOP _Pragma("clang loop vectorize(assume_safety) unroll(disable)")
#else
#define STRATA_EMU_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace strata::emu::STRATA_EMU_VARIANT {

constexpr int kLanes = 32;

using U32 = uint32_t __attribute__((vector_size(128)));
using I32 = int32_t __attribute__((vector_size(128)));
using F32 = float __attribute__((vector_size(128)));

// 32 lanes of 64 bits: two rows of dwords.
using U64 = uint64_t __attribute__((vector_size(256)));
using I64 = int64_t __attribute__((vector_size(256)));
using F64 = double __attribute__((vector_size(256)));

STRATA_EMU_INLINE U64 bits(const F64& x) { return (U64)x; }
STRATA_EMU_INLINE U64 bits(const I64& x) { return (U64)x; }
STRATA_EMU_INLINE F64 as_double(const U64& x) { return (F64)x; }
STRATA_EMU_INLINE I64 as_signed(const U64& x) { return (I64)x; }
STRATA_EMU_INLINE U64 joined(const U32& low, const U32& high) {
    return __builtin_convertvector(low, U64) | __builtin_convertvector(high, U64) << 32;
}
STRATA_EMU_INLINE U32 low_dwords(const U64& x) { return __builtin_convertvector(x, U32); }
STRATA_EMU_INLINE U32 high_dwords(const U64& x) { return __builtin_convertvector(x >> 32, U32); }

STRATA_EMU_INLINE U32 bits(const F32& x) { return (U32)x; }
STRATA_EMU_INLINE U32 bits(const I32& x) { return (U32)x; }
STRATA_EMU_INLINE U32 bits(const U32& x) { return x; }
STRATA_EMU_INLINE F32 as_float(const U32& x) { return (F32)x; }
STRATA_EMU_INLINE I32 as_signed(const U32& x) { return (I32)x; }

STRATA_EMU_INLINE U32 broadcast(uint32_t x) { return x - U32{}; }
// Rows are 64-byte aligned, less than the vector types' own alignment.
STRATA_EMU_INLINE U32 load(const uint32_t* row) {
    U32 x;
    __builtin_memcpy(&x, row, sizeof x);
    return x;
}
STRATA_EMU_INLINE void store(uint32_t* row, const U32& x) { __builtin_memcpy(row, &x, sizeof x); }

/// Lane i holds 1 << i.
STRATA_EMU_INLINE U32 lane_bits() {
    U32 bit;
    for (int lane = 0; lane < kLanes; ++lane) bit[lane] = 1u << lane;
    return bit;
}

/// A mask's bits as a vector condition (all ones or zero a lane).
STRATA_EMU_INLINE I32 expand(uint32_t mask) { return (broadcast(mask) & lane_bits()) != 0; }

/// A vector condition's lanes as bits.
STRATA_EMU_INLINE uint32_t collect(const I32& condition) {
#if defined(__clang__)
    using Bools = bool __attribute__((ext_vector_type(32)));
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(condition, Bools));
#else
    const U32 picked = bits(condition) & lane_bits();
    uint32_t mask = 0;
    for (int lane = 0; lane < kLanes; ++lane) mask |= picked[lane];
    return mask;
#endif
}

STRATA_EMU_INLINE uint32_t collect(const I64& condition) { return collect(__builtin_convertvector(condition, I32)); }

/// Stores the lanes of `exec`.
STRATA_EMU_INLINE void store_active(uint32_t* row, const U32& x, uint32_t exec) {
    if (exec == ~0u) [[likely]] {
        store(row, x);
    } else {
        store(row, expand(exec) ? x : load(row));
    }
}

STRATA_EMU_INLINE uint32_t* place(Wave* wave, uint32_t offset) {
    return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(wave) + offset);
}

/// The dword of a source that is the same in all lanes.
STRATA_EMU_INLINE uint32_t uniform_dword(Wave* wave, const Op* op, int i) {
    return op->vector().constant >> i & 1 ? op->vector().value[i] : *place(wave, op->vector().src[i]);
}

/// Source i of 32 lanes starting at lane 32 * half.
STRATA_EMU_INLINE U32 source(Wave* wave, const Op* op, int i, int half) {
    if (op->vector().uniform >> i & 1) return broadcast(uniform_dword(wave, op, i));
    return load(place(wave, op->vector().src[i]) + kLanes * half);
}

STRATA_EMU_INLINE F32 fma(const F32& a, const F32& b, const F32& c) {
#if defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#else
    F32 r;
    for (int lane = 0; lane < kLanes; ++lane) r[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    return r;
#endif
}

STRATA_EMU_INLINE F64 fma(const F64& a, const F64& b, const F64& c) {
#if defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#else
    F64 r;
    for (int lane = 0; lane < kLanes; ++lane) r[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
    return r;
#endif
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
