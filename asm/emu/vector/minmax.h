#pragma once
#include "strata/asm/emu/vector/half.h"
#include "strata/asm/emu/vector/lanes.h"

// Minimum, maximum and median by the rules of RDNA3 ISA (V_MIN_F32 and on): -0 < +0, and one NaN gives the other
// operand. With MODE.IEEE a signalling NaN gives that NaN made quiet. RDNA4 ISA has two other sets. In the "num"
// operations a single NaN of either kind gives the other operand, and two give the first made quiet (IEEE 754-2019
// minimumNumber). In "minimum" and "maximum" the first NaN wins. The document has a signalling NaN win before, and the
// median of (-0, +0, -0) be +0; this is what gfx1201 does (ROCm/rocm-systems, rocjitsu/.../minmax.h).
namespace strata::emu::STRATA_EMU_VARIANT {

STRATA_EMU_INLINE float number(float x) { return x; }
STRATA_EMU_INLINE double number(double x) { return x; }
STRATA_EMU_INLINE float number(Half x) { return half_to_float(x.bits); }
STRATA_EMU_INLINE uint32_t raw(float x) { return bits_of(x); }
STRATA_EMU_INLINE uint64_t raw(double x) { return bits_of(x); }
STRATA_EMU_INLINE uint16_t raw(Half x) { return x.bits; }

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
    using Raw = uint32_t;
    static constexpr Raw sign = 0x80000000u, exponent = 0x7f800000u, quiet = 0x00400000u;
    static constexpr int mantissa_bits = 23, bias = 127, max_exponent = 255;
};
template <>
struct FloatBits<double> {
    using Raw = uint64_t;
    static constexpr Raw sign = 1ull << 63, exponent = 0x7ffull << 52, quiet = 1ull << 51;
    static constexpr int mantissa_bits = 52, bias = 1023, max_exponent = 2047;
};
template <>
struct FloatBits<Half> {
    using Raw = uint16_t;
    static constexpr Raw sign = 0x8000, exponent = 0x7c00, quiet = 0x200;
    static constexpr int mantissa_bits = 10, bias = 15, max_exponent = 31;
};

template <class T>
STRATA_EMU_INLINE T of_raw(typename FloatBits<T>::Raw x) {
    return __builtin_bit_cast(T, x);
}
template <class T>
STRATA_EMU_INLINE bool is_nan(T x) {
    return (raw(x) & static_cast<typename FloatBits<T>::Raw>(~FloatBits<T>::sign)) > FloatBits<T>::exponent;
}
template <class T>
STRATA_EMU_INLINE bool is_signaling(T x) {
    return is_nan(x) && !(raw(x) & FloatBits<T>::quiet);
}
template <class T>
STRATA_EMU_INLINE T quieted(T x) {
    return of_raw<T>(raw(x) | FloatBits<T>::quiet);
}

template <class T>
STRATA_EMU_INLINE T pick_extreme(const Context& c, T a, T b, bool first, bool equal,
                                 typename FloatBits<T>::Raw merged) {
    using Raw = typename FloatBits<T>::Raw;
    const bool nan_a = is_nan(a), nan_b = is_nan(b);
    Raw r = first ? raw(a) : raw(b);
    r = equal ? merged : r;
    r = nan_a ? raw(b) : r;
    r = nan_b ? raw(a) : r;
    const bool ieee = c.ieee();
    r = ieee && is_signaling(b) ? static_cast<Raw>(raw(b) | FloatBits<T>::quiet) : r;
    r = ieee && is_signaling(a) ? static_cast<Raw>(raw(a) | FloatBits<T>::quiet) : r;
    return of_raw<T>(r);
}
template <class T>
STRATA_EMU_INLINE T minimum(const Context& c, T a, T b) {
    return pick_extreme(c, a, b, number(a) < number(b), number(a) == number(b),
                        static_cast<typename FloatBits<T>::Raw>(raw(a) | raw(b)));
}
template <class T>
STRATA_EMU_INLINE T maximum(const Context& c, T a, T b) {
    return pick_extreme(c, a, b, number(a) > number(b), number(a) == number(b),
                        static_cast<typename FloatBits<T>::Raw>(raw(a) & raw(b)));
}
template <class T>
STRATA_EMU_INLINE T median(const Context& c, T a, T b, T d) {
    const T low = minimum(c, minimum(c, a, b), d), high = maximum(c, maximum(c, a, b), d);
    const T ab = maximum(c, a, b), ad = maximum(c, a, d), bd = maximum(c, b, d);
    const auto middle = number(high) == number(a) ? raw(bd) : number(high) == number(b) ? raw(ad) : raw(ab);
    return of_raw<T>(is_nan(a) || is_nan(b) || is_nan(d) ? raw(low) : middle);
}

/// The order of RDNA4's operations: which of two numbers, NaN aside.
template <bool largest, class T>
STRATA_EMU_INLINE typename FloatBits<T>::Raw of_numbers(T a, T b) {
    using Raw = typename FloatBits<T>::Raw;
    const bool first = largest ? number(a) > number(b) : number(a) < number(b);
    const Raw merged = static_cast<Raw>(largest ? raw(a) & raw(b) : raw(a) | raw(b));
    return number(a) == number(b) ? merged : first ? raw(a) : raw(b);
}
/// RDNA4 ISA, V_MIN_NUM_F32, V_MAX_NUM_F32.
template <bool largest, class T>
STRATA_EMU_INLINE T extreme_number(T a, T b) {
    auto r = of_numbers<largest>(a, b);
    r = is_nan(a) ? raw(b) : r;
    r = is_nan(b) ? raw(a) : r;
    r = is_nan(a) && is_nan(b) ? raw(quieted(a)) : r;
    return of_raw<T>(r);
}
template <class T>
STRATA_EMU_INLINE T median_number(T a, T b, T d) {
    const T low = extreme_number<false>(extreme_number<false>(a, b), d),
            high = extreme_number<true>(extreme_number<true>(a, b), d);
    const T ab = extreme_number<true>(a, b), ad = extreme_number<true>(a, d), bd = extreme_number<true>(b, d);
    const auto middle = raw(high) == raw(a) ? raw(bd) : raw(high) == raw(b) ? raw(ad) : raw(ab);
    return of_raw<T>(is_nan(a) || is_nan(b) || is_nan(d) ? raw(low) : middle);
}
/// RDNA4 ISA, V_MINIMUM_F32, V_MAXIMUM_F32.
template <bool largest, class T>
STRATA_EMU_INLINE T extreme_2019(T a, T b) {
    auto r = of_numbers<largest>(a, b);
    r = is_nan(b) ? raw(quieted(b)) : r;
    r = is_nan(a) ? raw(quieted(a)) : r;
    return of_raw<T>(r);
}

/// 32 lanes of v_min_f32 / v_max_f32; with mode::kNumber of RDNA4's v_min_num_f32 / v_max_num_f32.
template <bool largest>
STRATA_EMU_INLINE U32 extreme(const U32& a, const U32& b, uint32_t mode_bits) {
    const F32 x = as_float(a), y = as_float(b);
    const I32 first = largest ? x > y : x < y;
    U32 r = first ? a : b;
    r = x == y ? (largest ? a & b : a | b) : r;
    r = y != y ? a : r;
    if (mode_bits & mode::kNumber) {
        const I32 neither = (x != x) & (y != y);
        if (collect(neither)) [[unlikely]]
            r = neither ? a | 0x400000 : r;
    } else if (mode_bits & mode::kIeee) {
        const I32 unordered = (x != x) | (y != y);
        if (collect(unordered)) [[unlikely]] {
            r = ((y != y) & ((b & 0x400000) == 0)) ? b | 0x400000 : r;
            r = ((x != x) & ((a & 0x400000) == 0)) ? a | 0x400000 : r;
        }
    }
    return r;
}

/// 32 lanes of v_med3_f32, or with mode::kNumber of v_med3_num_f32.
STRATA_EMU_INLINE U32 median(const U32& a, const U32& b, const U32& d, uint32_t mode_bits) {
    const F32 x = as_float(a), y = as_float(b), z = as_float(d);
    const U32 ab = extreme<true>(a, b, mode_bits);
    const U32 high = extreme<true>(ab, d, mode_bits);
    const bool by_bits = mode_bits & mode::kNumber;
    const I32 is_b = by_bits ? high == b : as_float(high) == y, is_a = by_bits ? high == a : as_float(high) == x;
    const U32 rest = is_b ? extreme<true>(a, d, mode_bits) : ab;
    const U32 middle = is_a ? extreme<true>(b, d, mode_bits) : rest;
    const I32 unordered = (x != x) | (y != y) | (z != z);
    if (!collect(unordered)) [[likely]]
        return middle;
    return unordered ? extreme<false>(extreme<false>(a, b, mode_bits), d, mode_bits) : middle;
}

/// 32 lanes of v_minimum_f32 / v_maximum_f32.
template <bool largest>
STRATA_EMU_INLINE U32 extreme_2019(const U32& a, const U32& b) {
    const F32 x = as_float(a), y = as_float(b);
    U32 r = (largest ? x > y : x < y) ? a : b;
    r = x == y ? (largest ? a & b : a | b) : r;
    const I32 nan_a = x != x, nan_b = y != y;
    if (collect(nan_a | nan_b)) [[unlikely]] {
        r = nan_b ? b | 0x400000 : r;
        r = nan_a ? a | 0x400000 : r;
    }
    return r;
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
