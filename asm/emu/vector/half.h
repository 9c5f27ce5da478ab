#pragma once
#include <cstdint>

#include "strata/asm/emu/machine/simd.h"

// Half and brain floats on the host, lane by lane, written so that the loops around them vectorise. All operations on
// halves go through float, or, for fused ones, through double. Float is exact for + - * and, with 24 >= 2 * 11 + 2
// bits, correctly rounded after the second rounding.
namespace strata::emu::STRATA_EMU_VARIANT {

STRATA_EMU_INLINE float float_of(uint32_t x) { return __builtin_bit_cast(float, x); }
STRATA_EMU_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
STRATA_EMU_INLINE double double_of(uint64_t x) { return __builtin_bit_cast(double, x); }
STRATA_EMU_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }

STRATA_EMU_INLINE float half_to_float(uint16_t half) {
    const uint32_t magnitude = half & 0x7fffu, sign = (half & 0x8000u) << 16;
    const uint32_t shifted = magnitude << 13;
    const uint32_t normal = shifted + (112u << 23);
    const uint32_t special = shifted | 0x7f800000u | (magnitude > 0x7c00 ? 0x400000u : 0);
    const uint32_t tiny = bits_of(float_of(shifted + (113u << 23)) - float_of(113u << 23));
    // Rounding down, the difference of equals is -0.
    return float_of(sign | (magnitude >= 0x7c00 ? special : magnitude < 0x400 ? tiny & 0x7fffffff : normal));
}

/// Rounds as the host's current mode says.
STRATA_EMU_INLINE uint16_t float_to_half(float x) {
    const uint32_t sign = bits_of(x) >> 16 & 0x8000u, magnitude = bits_of(x) & 0x7fffffffu;
    // The sum with 1.5 * 2^13 units of x's exponent, of x's sign, has the half's precision.
    const uint32_t exponent = magnitude & 0x7f800000u, least = 113u << 23;
    const uint32_t of_sum = (exponent < least ? least : exponent < (142u << 23) ? exponent : 142u << 23) + (13u << 23);
    const float shift = float_of(of_sum | 0x400000u | (bits_of(x) & 0x80000000u)), rounded = (x + shift) - shift;
    const uint32_t r = bits_of(rounded) & 0x7fffffffu;
    const uint32_t tiny = bits_of(float_of(r) + 0.5f) - bits_of(0.5f), normal = (r - (112u << 23)) >> 13;
    // Twice the largest float is infinite or, rounding toward zero, not.
    const uint32_t large = (bits_of(x * 0x1p112f) & 0x7fffffffu) == 0x7f800000u ? 0x7c00u : 0x7bffu;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ff);
    const uint32_t finite = magnitude >= 0x47800000u ? large : r < 0x38800000u ? tiny : normal;
    return static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? nan : magnitude == 0x7f800000u ? 0x7c00u : finite));
}

/// Toward zero whatever the host's mode is.
STRATA_EMU_INLINE uint16_t float_to_half_rtz(float x) {
    const uint32_t sign = bits_of(x) >> 16 & 0x8000u, magnitude = bits_of(x) & 0x7fffffffu;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ff);
    const uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const uint32_t shift = exponent >= 113 ? 0 : 126 - exponent;  // a denormal half: units of 2^-24
    const uint32_t tiny = shift > 24 ? 0 : mantissa >> shift;
    const uint32_t normal = (magnitude - (112u << 23)) >> 13;
    const uint32_t finite = magnitude >= 0x47800000u ? 0x7bffu : magnitude < 0x38800000u ? tiny : normal;
    return static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? nan : magnitude == 0x7f800000u ? 0x7c00u : finite));
}

/// A double to float with the inexact bit kept in the lowest place ("round to odd"), so that a further rounding is
/// right.
STRATA_EMU_INLINE float double_to_float_odd(double x) {
    const float f = static_cast<float>(x);
    const double back = f;
    const uint32_t b = bits_of(f);
    const bool exact = back == x || x != x || (b & 1);
    const bool too_large = (back < 0 ? -back : back) > (x < 0 ? -x : x);
    return float_of(exact ? b : too_large ? b - 1 : b + 1);
}
STRATA_EMU_INLINE uint16_t double_to_half(double x) { return float_to_half(double_to_float_odd(x)); }

/// a * b + c, rounded once. The product is exact in a double, and the sum's error decides its last bit. The error is
/// that of Knuth's two-sum, which needs rounding to nearest; directed roundings may go by way of a single.
STRATA_EMU_INLINE uint16_t fused_to_half(float a, float b, float c, bool nearest) {
    if (!nearest) return float_to_half(__builtin_fmaf(a, b, c));
    const double product = static_cast<double>(a) * b, addend = c, sum = product + addend, other = sum - product;
    const double error = (product - (sum - other)) + (addend - other);
    const uint64_t bits = bits_of(sum);
    const bool inexact = error > 0 || error < 0, smaller = (error < 0) != (sum < 0);
    const uint64_t odd = (bits & 1) || !inexact ? bits : smaller ? bits - 1 : bits + 1;
    return double_to_half(double_of(odd));
}

/// Denormal halves become zeros of their sign.
STRATA_EMU_INLINE uint32_t flush_half(uint32_t half) { return (half & 0x7c00) == 0 ? half & 0xffff8000u : half; }

}  // namespace strata::emu::STRATA_EMU_VARIANT
