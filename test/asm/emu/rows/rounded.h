#pragma once
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>

// Arithmetic with one rounding into any binary format. The exact result is kept as a double rounded to odd, whose bits
// suffice for a right second rounding to 24 bits or fewer.
namespace strata::emu::harness {

/// A binary format: bits of the fraction, exponent of the smallest normal number, of the largest.
struct FloatFormat {
    int fraction, low, high;
    uint32_t infinity() const { return static_cast<uint32_t>(high - low + 2) << fraction; }
    uint32_t sign() const { return 1u << (fraction == 23 ? 31 : 15); }
    bool is_nan(uint32_t bits) const { return (bits & ~sign()) > infinity(); }
    uint32_t quiet() const { return 1u << (fraction - 1); }
};
constexpr FloatFormat kSingle{23, -126, 127}, kHalf{10, -14, 15}, kBrain{7, -126, 127};

enum class Rounding : uint8_t { nearest, up, down, zero };  // the order of MODE's fields

inline double exact_value(uint32_t bits, FloatFormat f) {
    const uint32_t magnitude = bits & (f.sign() - 1);
    const double sign = bits & f.sign() ? -1 : 1;
    if (magnitude > f.infinity()) return std::nan("");
    if (magnitude == f.infinity()) return sign * INFINITY;
    const uint32_t fraction = magnitude & ((1u << f.fraction) - 1), exponent = magnitude >> f.fraction;
    if (!exponent) return sign * std::ldexp(fraction, f.low - f.fraction);
    return sign * std::ldexp(fraction | 1u << f.fraction, f.low + static_cast<int>(exponent) - 1 - f.fraction);
}

/// `value` rounded into the format; without `denormals` results below the normal range are zeros of their sign.
inline uint32_t rounded(double value, FloatFormat f, Rounding rounding, bool denormals = true) {
    if (std::isnan(value)) return f.infinity() | f.quiet();
    const uint32_t sign = std::signbit(value) ? f.sign() : 0;
    value = std::fabs(value);
    if (std::isinf(value)) return sign | f.infinity();
    if (value == 0) return sign;
    int exponent = std::ilogb(value);
    if (exponent < f.low) exponent = f.low;
    const double scaled = std::ldexp(value, f.fraction - exponent);  // exact: the integer part is the significand
    double whole = std::floor(scaled);
    const double rest = scaled - whole;
    const bool away = rounding == Rounding::nearest ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)
                      : rounding == Rounding::up    ? rest > 0 && !sign
                      : rounding == Rounding::down  ? rest > 0 && sign
                                                    : false;
    if (away) whole += 1;
    const double result = std::ldexp(whole, exponent - f.fraction);
    if (result >= std::ldexp(1.0, f.high + 1)) {
        const bool largest =
            rounding == Rounding::zero || (rounding == Rounding::up && sign) || (rounding == Rounding::down && !sign);
        return sign | (largest ? f.infinity() - 1 : f.infinity());
    }
    if (result < std::ldexp(1.0, f.low)) return denormals ? sign | static_cast<uint32_t>(whole) : sign;
    const int top = std::ilogb(result);
    const auto significand = static_cast<uint32_t>(std::ldexp(result, f.fraction - top));
    return sign | ((static_cast<uint32_t>(top - f.low + 1) << f.fraction) + (significand - (1u << f.fraction)));
}

/// a * b + c rounded to odd.
inline double fused_to_odd(double a, double b, double c) {
    const int before = std::fegetround();
    volatile double x = a, y = b, z = c;
    std::fesetround(FE_TOWARDZERO);
    std::feclearexcept(FE_ALL_EXCEPT);
    volatile double result = std::fma(x, y, z);
    const bool inexact = std::fetestexcept(FE_INEXACT);
    std::fesetround(before);
    const double value = result;
    if (!inexact || std::isinf(value) || std::isnan(value)) return value;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(value) | 1);
}

}  // namespace strata::emu::harness
