#pragma once
#include "strata/asm/emu/vector/half.h"

// Sums of products as gfx1100 and gfx1201 form them. The products are exact and are cut off on a grid that depends on
// their factors' exponents and the addend's. The sum is rounded once, to nearest, whatever MODE says. From captures of
// a Radeon Pro W7900 and a Radeon AI Pro R9700: ROCm/rocm-systems issue 12056 and emulation/rocjitsu/lib/rocjitsu/src/
// rocjitsu/isa/arch/amdgpu/shared/gfx11_dot2.h, gfx12_dot.h and dot_packed16.h (MIT). Lane by lane, without branches,
// so that loops around these functions vectorise.
namespace strata::emu::STRATA_EMU_VARIANT {

/// RDNA3 adds two products to C at once, in a frame in which C is positive. A term of the other sign is the ones'
/// complement of its size. RDNA4 first adds pairs of products, and cuts off downwards.
enum class DotUnit { rdna3, rdna4 };

template <int mantissa_, int exponent_, bool infinities_, bool denormals_ = true>
struct FactorFormat {
    static constexpr int mantissa = mantissa_, exponent = exponent_, bias = (1 << (exponent_ - 1)) - 1;
    static constexpr bool infinities = infinities_, denormals = denormals_;
};
using HalfFactor = FactorFormat<10, 5, true>;
template <DotUnit unit>
using BrainFactor = FactorFormat<7, 8, true, unit == DotUnit::rdna4>;  ///< RDNA3 reads their denormals as zeros
using Fp8Factor = FactorFormat<3, 4, false>;
using Bf8Factor = FactorFormat<2, 5, true>;

/// Significand and exponent of its lowest place; `place` is the exponent of the encoding.
struct Factor {
    int32_t significand, exponent, place;
    bool negative, nan, infinite;
};
template <class F>
STRATA_EMU_INLINE Factor factor(uint32_t x) {
    constexpr uint32_t ones = (1u << F::mantissa) - 1, last = (1u << F::exponent) - 1;
    const uint32_t field = x >> F::mantissa & last, fraction = x & ones;
    const int32_t place = static_cast<int32_t>(field ? field : 1) - F::bias;
    const uint32_t significand = field ? fraction | (ones + 1) : F::denormals ? fraction : 0;
    const bool special = field == last && (F::infinities || fraction == ones);
    return {static_cast<int32_t>(significand),
            place - F::mantissa,
            place,
            (x >> (F::mantissa + F::exponent) & 1) != 0,
            special && (!F::infinities || fraction != 0),
            special && F::infinities && fraction == 0};
}

STRATA_EMU_INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
/// 2^n, n within 1000 of zero: what lies beyond is multiplied by zero, or comes to nothing.
STRATA_EMU_INLINE double scale_of(int32_t n) {
    const int32_t within = n < -1000 ? -1000 : n > 1000 ? 1000 : n;
    return double_of(static_cast<uint64_t>(static_cast<int64_t>(within + 1023)) << 52);
}
/// Rounds numbers below 2^51 down: no host instruction before SSE4.1 does it.
STRATA_EMU_INLINE double rounded_down(double x) {
    constexpr double kShift = 0x1.8p52;
    const double r = (x + kShift) - kShift;
    return r > x ? r - 1 : r;
}

constexpr int32_t kNoPlace = -4096;

/// The sum of the terms: a number, or the bits of a single that is none.
struct DotSum {
    double value;
    bool special;
    uint32_t bits;
};

/// `least` is the exponent below which the addend's place does not sink.
template <DotUnit unit, class A, class B, int terms, int group, int least>
STRATA_EMU_INLINE DotSum dot_sum(const uint32_t* a, const uint32_t* b, uint32_t c) {
    constexpr uint32_t kOfFactor = 0xffc00a3d, kInvalid = group == 4 ? kOfFactor : 0xffc00000;
    int32_t product[terms], exponent[terms], grid_of[terms];
    bool negative[terms], nan = false, invalid = false, above = false, below = false;
    int32_t most = kNoPlace;
    for (int i = 0; i < terms; ++i) {
        const Factor x = factor<A>(a[i]), y = factor<B>(b[i]);
        product[i] = x.significand * y.significand, exponent[i] = x.exponent + y.exponent;
        negative[i] = x.negative != y.negative;
        grid_of[i] = product[i] ? x.place + y.place - 24 : kNoPlace;
        most = larger(most, grid_of[i]);
        nan |= x.nan | y.nan;
        invalid |= (x.infinite & (y.significand == 0)) | (y.infinite & (x.significand == 0));
        const bool infinite = x.infinite | y.infinite;
        above |= infinite & !negative[i], below |= infinite & negative[i];
    }
    const uint32_t field = c >> 23 & 255, size = c & 0x7fffffff;
    const bool c_negative = c >> 31 != 0, keeps = unit == DotUnit::rdna4;
    const int32_t c_significand = static_cast<int32_t>(field ? (c & 0x7fffff) | 0x800000 : keeps ? c & 0x7fffff : 0);
    // A denormal's own exponent counts only where `least` does not.
    const int32_t c_exponent = static_cast<int32_t>(field ? field : 1) - 127,
                  lead = c_significand ? c_exponent : kNoPlace;
    const int32_t grid = larger(most, larger(least, lead) - 26);
    const double c_units = static_cast<double>(c_significand) * scale_of(c_exponent - 23 - grid);
    double total = 0;
    if constexpr (unit == DotUnit::rdna3) {
        total = rounded_down(c_units);
        for (int i = 0; i < terms; ++i) {
            const double units = rounded_down(static_cast<double>(product[i]) * scale_of(exponent[i] - grid));
            total += negative[i] != c_negative ? -units - 1 : units;
        }
        total = c_negative ? -total : total;
    } else {
        const double down = rounded_down(c_negative ? -c_units : c_units);
        // Nothing is left of a negative addend below one unit, but where the grid is as fine as it gets.
        total = grid > least && c_units < 1 ? 0.0 : down;
        for (int i = 0; i < terms; i += group) {
            int32_t place = kNoPlace;
            for (int k = i; k < i + group; ++k) place = larger(place, grid_of[k]);
            double sum = 0;
            for (int k = i; k < i + group; ++k) {
                const double units = static_cast<double>(product[k]) * scale_of(exponent[k] - place);
                sum += rounded_down(negative[k] ? -units : units);
            }
            total += rounded_down(sum * scale_of(place - grid));
        }
    }
    bool all_zero = c_significand == 0;
    for (int i = 0; i < terms; ++i) all_zero &= product[i] == 0;
    const bool c_nan = size > 0x7f800000, c_infinite = size == 0x7f800000;
    const bool bad = invalid | (above & below), up = above | (c_infinite & !c_negative),
               falls = below | (c_infinite & c_negative);
    const uint32_t infinity = up && falls ? kInvalid : falls ? 0xff800000 : 0x7f800000;
    const uint32_t bits = nan ? kOfFactor : bad ? kInvalid : c_nan ? c | 0x400000 : infinity;
    return {all_zero ? 0.0 : total * scale_of(grid), nan || bad || c_nan || up || falls, bits};
}

/// RDNA3 gives no denormals, and rounds to a normal number's precision before it looks. No zero is negative.
template <DotUnit unit>
STRATA_EMU_INLINE uint32_t single_of(double x) {
    const double size = x < 0 ? -x : x;
    const float rounded = static_cast<float>(size);
    const float normal = size >= 0x1p-126 ? rounded : size >= 0x1.ffffffp-127 ? 0x1p-126f : 0.0f;
    const uint32_t bits = bits_of(unit == DotUnit::rdna3 ? normal : rounded);
    return bits ? bits | (x < 0 ? 0x80000000 : 0) : 0;
}

// Results of three formats: a single; a half rounded from the sum; a brain float, which is the upper part of a single.
template <DotUnit unit, class A, class B, int terms, int group>
STRATA_EMU_INLINE uint32_t dot_single(const uint32_t* a, const uint32_t* b, uint32_t c) {
    const DotSum sum = dot_sum < unit, A, B, terms, group, unit == DotUnit::rdna3 ? kNoPlace : -126 > (a, b, c);
    return sum.special ? sum.bits : single_of<unit>(sum.value);
}
template <DotUnit unit, int terms>
STRATA_EMU_INLINE uint16_t dot_half(const uint32_t* a, const uint32_t* b, uint16_t c, bool saturates) {
    const DotSum sum = dot_sum<unit, HalfFactor, HalfFactor, terms, 2, -14>(a, b, bits_of(half_to_float(c)));
    const uint16_t rounded = double_to_half(sum.value);
    const bool zero = (rounded & 0x7fff) == 0, overflow = (rounded & 0x7fff) == 0x7c00 && saturates;
    const uint32_t moved = (sum.bits >> 16 & 0x8000) | 0x7c00 | (sum.bits >> 13 & 0x3ff);
    const uint32_t special = sum.bits == 0xffc00a3d ? 0xfe3d : moved;
    return static_cast<uint16_t>(sum.special ? special : zero ? 0u : rounded - (overflow ? 1u : 0u));
}
template <DotUnit unit, int terms>
STRATA_EMU_INLINE uint16_t dot_brain(const uint32_t* a, const uint32_t* b, uint16_t c) {
    using F = BrainFactor<unit>;
    const uint32_t single = dot_single<unit, F, F, terms, 2>(a, b, static_cast<uint32_t>(c) << 16);
    return static_cast<uint16_t>(single == 0xffc00a3d ? 0xfffd : single >> 16);
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
