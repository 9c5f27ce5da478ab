#pragma once
#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#include "strata/asm/emu/vector/dot.h"

// The sums of dot.h for 16 lanes at a time, where no term is special and none near the ends of a single's range. Units
// of the grid are then integers of 30 bits. Steps in single precision are exact; only the truncations round.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace dots {

using Bits = uint32_t __attribute__((vector_size(64)));
using Signed = int32_t __attribute__((vector_size(64)));
using Floats = float __attribute__((vector_size(64)));
using Words = uint16_t __attribute__((vector_size(64)));
constexpr int kTile = 16;  ///< lanes of these

template <class V, class T>
STRATA_EMU_INLINE V load_as(const T* from) {
    V x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}
template <class V, class T>
STRATA_EMU_INLINE void store_as(T* to, const V& x) {
    __builtin_memcpy(to, &x, sizeof x);
}

// Halves in the low bits of each dword, to and from floats; the upper bits are not looked at, and are given as zeros.
#if defined(__AVX512F__)
STRATA_EMU_INLINE Floats from_halves(const Bits& x) {
    __m512 wide = _mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)x));
    __asm__("" : "+v"(wide));  // clang would compare the halves instead of their values, one by one
    return (Floats)wide;
}
STRATA_EMU_INLINE Bits to_halves(const Floats& x) {
    return (Bits)_mm512_cvtepu16_epi32(_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__)
STRATA_EMU_INLINE Floats from_halves(const Bits& x) {
    union {
        Bits all;
        __m128i part[4];
    } in{x & 0xffff};
    union {
        Floats all;
        __m256 part[2];
    } out;
    for (int i = 0; i < 2; ++i) {
        out.part[i] = _mm256_cvtph_ps(_mm_packus_epi32(in.part[2 * i], in.part[2 * i + 1]));
        __asm__("" : "+x"(out.part[i]));  // as above
    }
    return out.all;
}
STRATA_EMU_INLINE Bits to_halves(const Floats& x) {
    union {
        Floats all;
        __m256 part[2];
    } in{x};
    union {
        Bits all;
        __m256i part[2];
    } out;
    for (int i = 0; i < 2; ++i)
        out.part[i] = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(in.part[i], _MM_FROUND_TO_NEAREST_INT));
    return out.all;
}
#else
STRATA_EMU_INLINE Floats from_halves(const Bits& x) {
    alignas(64) uint32_t half[kTile];
    alignas(64) float wide[kTile];
    store_as(half, x);
    STRATA_EMU_LANE_LOOP
    for (int lane = 0; lane < kTile; ++lane) wide[lane] = half_to_float(static_cast<uint16_t>(half[lane]));
    return load_as<Floats>(wide);
}
STRATA_EMU_INLINE Bits to_halves(const Floats& x) {
    alignas(64) float wide[kTile];
    alignas(64) uint32_t half[kTile];
    store_as(wide, x);
    STRATA_EMU_LANE_LOOP
    for (int lane = 0; lane < kTile; ++lane) half[lane] = float_to_half(wide[lane]);
    return load_as<Bits>(half);
}
#endif

STRATA_EMU_INLINE bool any(const Signed& condition) {
#if defined(__clang__)
    return __builtin_reduce_or(condition) != 0;
#else
    int found = 0;
    for (int i = 0; i < kTile; ++i) found |= condition[i];
    return found != 0;
#endif
}
STRATA_EMU_INLINE Signed larger_of(const Signed& a, const Signed& b) { return a > b ? a : b; }
STRATA_EMU_INLINE Signed cut_off(const Floats& x) { return __builtin_convertvector(x, Signed); }
STRATA_EMU_INLINE Signed down(const Floats& x) {
#if defined(__AVX512F__)
    return (Signed)_mm512_cvt_roundps_epi32((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX__)
    union {
        Floats all;
        __m256 part[2];
    } row{x};
    for (int i = 0; i < 2; ++i) row.part[i] = _mm256_floor_ps(row.part[i]);
    return cut_off(row.all);
#else
    const Signed cut = cut_off(x);
    return cut + (__builtin_convertvector(cut, Floats) > x);
#endif
}

/// The precision of a sum between the steps; as a value always a single's bits.
enum class Sum { single, brain, half };

// Places are 2 to the exponent of the encoding, as the bits of singles. Those of factors are 2^62 (kLeft) and 2^63
// (kRight) times as large with the bias taken off. Their sum is therefore that of the product times four, and the
// addend's exponent stands on the same grid. A zero's is below all.
constexpr int32_t kLeft = 63 << 23, kRight = 62 << 23, kZeroPlace = -(1 << 30), kPlaceBits = -(1 << 23);
/// `least` is the exponent of the encoding's denormals.
template <int least>
STRATA_EMU_INLINE Signed factor_place(const Floats& x, int32_t bias) {
    constexpr int32_t kDenormal = (127 + least) << 23;
    const Signed place = larger_of((Signed)((Bits)x & 0x7f800000), Signed{} + kDenormal);
    return x == 0 ? Signed{} + kZeroPlace : place - bias;
}
/// Factors that steps take are zeros, or of at least 2^kLeast and below 2^kMost. They are halves that are finite, or
/// smaller ones where the sum is a half too; brain floats are from 2^-36 to 2^36.
template <bool brain, Sum kind>
struct Plain {
    static constexpr int kLeast = brain ? -36 : -24, kMost = brain ? 36 : kind == Sum::half ? 5 : 128;
};
/// The same of addends. Singles have more room, but no product may vanish beside them; a sum of halves must not
/// overflow.
template <bool brain, Sum kind>
STRATA_EMU_INLINE Signed addend_outside(const Floats& c) {
    const Bits size = (Bits)c & 0x7fffffff;
    if constexpr (kind == Sum::half) return size >= (127 + 15) << 23;
    return (size != 0) & ((size < (127 - 96) << 23) | (size >= (127 + (brain ? 76 : 100)) << 23));
}

/// 2^24 over a place's own size.
STRATA_EMU_INLINE Floats units_in(const Signed& place) { return (Floats)((280u << 23) - (Bits)place); }

/// a * b for a power of two b; no zero is negative.
STRATA_EMU_INLINE Floats plus_zero(const Floats& a, const Floats& b) {
#if defined(__FMA__) && defined(__clang__)
    return __builtin_elementwise_fma(a, b, Floats{});
#else
    return a * b + Floats{};
#endif
}

/// Units of the grid, of which a single has 24 bits; what it cannot hold is kept in its lowest place.
STRATA_EMU_INLINE Floats rounded_to_odd(const Signed& total) {
#if defined(__AVX512F__)
    const __m512 cut = _mm512_cvt_roundepi32_ps((__m512i)total, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask16 lost = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), (__m512i)total);
    return (Floats)_mm512_mask_or_epi32((__m512i)cut, lost, (__m512i)cut, _mm512_set1_epi32(1));
#else
    const Signed odd = (total & ~63) | ((total & 63) != 0 ? Signed{} + 64 : Signed{});
    const Signed fits = (Signed)((Bits)total + (1u << 24) <= Bits{} + (1u << 25));
    return __builtin_convertvector(fits ? total : odd, Floats);
#endif
}
/// Units of the grid rounded to what the sum is, once.
template <Sum kind>
STRATA_EMU_INLINE Floats rounded_sum(const Signed& total, const Floats& unit) {
    if constexpr (kind == Sum::half) return from_halves(to_halves(rounded_to_odd(total) * unit)) + Floats{};
    const Floats sum = plus_zero(__builtin_convertvector(total, Floats), unit);
    return kind == Sum::brain ? (Floats)((Bits)sum & 0xffff0000) : sum;
}
/// Halves' addends count as normal ones.
template <Sum kind>
STRATA_EMU_INLINE Signed addend_place(const Floats& c) {
    const Signed place = (Signed)((Bits)c & 0x7f800000);
    return kind == Sum::half ? larger_of(place, Signed{} + ((127 - 14) << 23)) : place;
}

/// True if steps look at the upper 16 bits of places alone: what is below may be anything.
template <DotUnit unit, Sum kind, bool zeros>
constexpr bool kTakesUpperHalves =
#if defined(__AVX512DQ__)
    unit == DotUnit::rdna3 && kind != Sum::half && !zeros;
#else
    false;
#endif

/// The larger one of a place and the addend's, with the addend's sign.
template <Sum kind, bool zeros>
STRATA_EMU_INLINE Bits signed_grid(const Signed& place, const Floats& c) {
#if defined(__AVX512DQ__)
    constexpr int kLargerWithSignOfFirst = 3;
    if constexpr (kTakesUpperHalves<DotUnit::rdna3, kind, zeros>)
        return (Bits)_mm512_range_ps((__m512)c, (__m512)place, kLargerWithSignOfFirst) & 0xff800000;
#endif
    return (Bits)larger_of(place, addend_place<kind>(c)) | ((Bits)c & 0x80000000);
}

/// gfx1100, in C's frame, where a term of the other sign counts as the complement of its size. `zeros`: there may be
/// products of zero, and all may be.
template <Sum kind, bool zeros>
STRATA_EMU_INLINE Floats two_onto(const Floats* p, const Signed& place, const Floats& c) {
    const Bits grid = signed_grid<kind, zeros>(place, c);
    const Floats units = (Floats)((280u << 23) - grid), x = p[0] * units, y = p[1] * units;
    const Signed total = cut_off(c * units) + cut_off(x) + cut_off(y) + (((Signed)x >> 31) + ((Signed)y >> 31));
    const Floats sum = rounded_sum<kind>(total, (Floats)((254u << 23) - (Bits)units));
    return zeros ? (Floats)((Bits)sum & (Bits)((grid & 0x7fffffff) != 0)) : sum;
}

/// x / 2^n rounded down.
STRATA_EMU_INLINE Signed shifted_down(const Signed& x, const Bits& n) {
#if defined(__AVX512F__)
    return (Signed)_mm512_srav_epi32((__m512i)x, (__m512i)n);  // by any n
#else
    return x >> (Signed)(n > 31 ? Bits{} + 31 : n);
#endif
}

/// gfx1201: groups first.
template <Sum kind, int terms, int group>
STRATA_EMU_INLINE Floats groups_onto(const Floats* p, const Signed* place, const Floats& c) {
    Signed high[terms / group], grid = addend_place<kind>(c);
    for (int i = 0; i < terms / group; ++i) {
        high[i] = place[i];
        grid = larger_of(grid, high[i]);
    }
    const Floats addend = c * units_in(grid);
    Signed dropped = (Signed)(((Bits)addend & 0x7fffffff) < 0x3f800000);
    if constexpr (kind == Sum::half) dropped &= grid > ((127 - 14 + 26) << 23);
    Signed total = down(addend) & ~dropped;
    for (int i = 0; i < terms / group; ++i) {
        const Floats units = units_in(high[i]);
        Signed sum{};
        for (int k = group * i; k < group * (i + 1); ++k) sum += down(p[k] * units);
        total += shifted_down(sum, ((Bits)grid - (Bits)high[i]) >> 23);
    }
    return rounded_sum<kind>(total, (Floats)grid * 0x1p-26f);
}

/// `place` is the larger one of each two products (kTakesUpperHalves).
template <DotUnit unit, Sum kind, int terms, bool zeros>
STRATA_EMU_INLINE Floats plain_step(const Floats* p, const Signed* place, const Floats& c) {
    if constexpr (unit == DotUnit::rdna3)
        return two_onto<kind, zeros>(p, place[0], c);
    else
        return groups_onto<kind, terms, 2>(p, place, c);
}

}  // namespace dots
}  // namespace strata::emu::STRATA_EMU_VARIANT
