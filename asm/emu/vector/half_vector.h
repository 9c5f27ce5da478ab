#pragma once
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "strata/asm/emu/vector/minmax.h"

// Halves, 32 lanes at a time. Arithmetic assumes the plain MODE: to nearest, denormals kept. A row of dwords holds one
// half a lane in the lower bits, or two; comparisons work on all 64.
namespace strata::emu::STRATA_EMU_VARIANT {

using U16 = uint16_t __attribute__((vector_size(128)));
using I16 = int16_t __attribute__((vector_size(128)));

/// The lower halves as floats, exactly; the upper ones are not looked at.
STRATA_EMU_INLINE F32 widened(const U32& x) {
#if defined(__AVX512F__)
    union {
        U32 row;
        __m512i part[2];
    } in{x};
    union {
        F32 row;
        __m512 part[2];
    } out;
    for (int i = 0; i < 2; ++i) out.part[i] = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(in.part[i]));
    return out.row;
#elif defined(__F16C__)
    union {
        U32 row;
        __m128i part[8];
    } in{x & 0xffff};
    union {
        F32 row;
        __m256 part[4];
    } out;
    for (int i = 0; i < 4; ++i) out.part[i] = _mm256_cvtph_ps(_mm_packus_epi32(in.part[2 * i], in.part[2 * i + 1]));
    return out.row;
#else
    const U32 magnitude = x & 0x7fff, sign = (x & 0x8000) << 16, shifted = magnitude << 13;
    const U32 special = shifted | 0x7f800000u | (magnitude > 0x7c00 ? broadcast(0x400000u) : U32{});
    const U32 tiny = bits(as_float(shifted + (113u << 23)) - as_float(broadcast(113u << 23)));
    const U32 finite = magnitude < 0x400 ? tiny : shifted + (112u << 23);
    return as_float(sign | (magnitude >= 0x7c00 ? special : finite));
#endif
}

/// To nearest even; the upper halves are zero.
STRATA_EMU_INLINE U32 narrowed(const F32& x) {
#if defined(__AVX512F__)
    union {
        F32 row;
        __m512 part[2];
    } in{x};
    union {
        U32 row;
        __m512i part[2];
    } out;
    for (int i = 0; i < 2; ++i)
        out.part[i] = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(in.part[i], _MM_FROUND_TO_NEAREST_INT));
    return out.row;
#elif defined(__F16C__)
    union {
        F32 row;
        __m256 part[4];
    } in{x};
    union {
        U32 row;
        __m256i part[4];
    } out;
    for (int i = 0; i < 4; ++i)
        out.part[i] = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(in.part[i], _MM_FROUND_TO_NEAREST_INT));
    return out.row;
#else
    const U32 sign = bits(x) >> 16 & 0x8000, magnitude = bits(x) & 0x7fffffff;
    const U32 nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    const U32 special = magnitude > 0x7f800000u ? nan : broadcast(0x7c00);
    const U32 tiny = bits(as_float(magnitude) + 0.5f) - 0x3f000000u;
    const U32 normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const U32 finite = magnitude < 0x38800000u ? tiny : normal;
    return sign | (magnitude >= 0x47800000u ? special : finite);
#endif
}

/// a * b + c of halves, to be rounded to a half. The product is exact in single precision. The sum's inexactness is
/// kept in its lowest bit ("round to odd"), 13 places below the half's.
STRATA_EMU_INLINE F32 fused_odd(const F32& a, const F32& b, const F32& c) {
    const F32 product = a * b, sum = product + c;
    const F32 of_c = sum - product, error = (product - (sum - of_c)) + (c - of_c);
    const U32 s = bits(sum);
    const I32 adjust = (error != 0.0f) & (error == error) & ((s & 1) == 0);
    const I32 toward_zero = as_signed(bits(error) ^ s) < 0;
    return as_float(s + bits(adjust & (toward_zero | 1)));
}

STRATA_EMU_INLINE U32 halves(const U32& low, const U32& high) { return low | high << 16; }
/// The first of two NaN is the result: compilers hand the host's + and * their operands in either order.
STRATA_EMU_INLINE F32 first_nan(const F32& a, const F32& result) { return a != a ? a : result; }
STRATA_EMU_INLINE U32 half_add(const U32& a, const U32& b) {
    const F32 x = widened(a);
    return narrowed(first_nan(x, x + widened(b)));
}
STRATA_EMU_INLINE U32 half_mul(const U32& a, const U32& b) {
    const F32 x = widened(a);
    return narrowed(first_nan(x, x * widened(b)));
}
STRATA_EMU_INLINE U32 half_fma(const U32& a, const U32& b, const U32& c) {
    return narrowed(fused_odd(widened(a), widened(b), widened(c)));
}
STRATA_EMU_INLINE U32 pair_add(const U32& a, const U32& b) {
    return halves(half_add(a, b), half_add(a >> 16, b >> 16));
}
STRATA_EMU_INLINE U32 pair_mul(const U32& a, const U32& b) {
    return halves(half_mul(a, b), half_mul(a >> 16, b >> 16));
}
STRATA_EMU_INLINE U32 pair_fma(const U32& a, const U32& b, const U32& c) {
    return halves(half_fma(a, b, c), half_fma(a >> 16, b >> 16, c >> 16));
}

/// Signed integers in the order of the halves, -0 below +0.
STRATA_EMU_INLINE I16 half_order(const U16& x) { return (I16)x ^ ((I16)x >> 15 & 0x7fff); }
STRATA_EMU_INLINE I16 half_is_nan(const U16& x) { return (x & 0x7fff) > 0x7c00; }
STRATA_EMU_INLINE bool any(const I16& condition) { return collect((I32)condition != 0) != 0; }

/// 64 halves of v_min_f16 / v_max_f16; with mode::kNumber of v_min_num_f16 / v_max_num_f16.
template <bool largest>
STRATA_EMU_INLINE U32 half_extreme(const U32& a_row, const U32& b_row, uint32_t mode_bits) {
    const U16 a = (U16)a_row, b = (U16)b_row;
    U16 r = (largest ? half_order(a) > half_order(b) : half_order(a) < half_order(b)) ? a : b;
    const I16 nan_a = half_is_nan(a), nan_b = half_is_nan(b);
    if (any(nan_a | nan_b)) [[unlikely]] {
        r = nan_a ? b : r;
        r = nan_b ? a : r;
        if (mode_bits & mode::kNumber) {
            r = (nan_a & nan_b) ? a | 0x200 : r;
        } else if (mode_bits & mode::kIeee) {
            r = (nan_b & ((b & 0x200) == 0)) ? b | 0x200 : r;
            r = (nan_a & ((a & 0x200) == 0)) ? a | 0x200 : r;
        }
    }
    return (U32)r;
}
/// 64 halves of v_minimum_f16 / v_maximum_f16.
template <bool largest>
STRATA_EMU_INLINE U32 half_extreme_2019(const U32& a_row, const U32& b_row) {
    const U16 a = (U16)a_row, b = (U16)b_row;
    U16 r = (largest ? half_order(a) > half_order(b) : half_order(a) < half_order(b)) ? a : b;
    const I16 nan_a = half_is_nan(a), nan_b = half_is_nan(b);
    if (any(nan_a | nan_b)) [[unlikely]] {
        r = nan_b ? b | 0x200 : r;
        r = nan_a ? a | 0x200 : r;
    }
    return (U32)r;
}
STRATA_EMU_INLINE I16 half_equal(const U16& a, const U16& b) { return (a == b) | (((a | b) & 0x7fff) == 0); }
/// 64 halves of v_med3_f16, or with mode::kNumber of v_med3_num_f16.
STRATA_EMU_INLINE U32 half_median(const U32& a, const U32& b, const U32& d, uint32_t mode_bits) {
    const U32 ab = half_extreme<true>(a, b, mode_bits);
    const U16 high = (U16)half_extreme<true>(ab, d, mode_bits);
    const bool by_bits = mode_bits & mode::kNumber;
    const I16 is_b = by_bits ? high == (U16)b : half_equal(high, (U16)b);
    const I16 is_a = by_bits ? high == (U16)a : half_equal(high, (U16)a);
    const U16 rest = is_b ? (U16)half_extreme<true>(a, d, mode_bits) : (U16)ab;
    const U16 middle = is_a ? (U16)half_extreme<true>(b, d, mode_bits) : rest;
    const I16 unordered = half_is_nan((U16)a) | half_is_nan((U16)b) | half_is_nan((U16)d);
    if (!any(unordered)) [[likely]]
        return (U32)middle;
    const U16 low = (U16)half_extreme<false>(half_extreme<false>(a, b, mode_bits), d, mode_bits);
    return (U32)(unordered ? low : middle);
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
