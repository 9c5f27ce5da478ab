#pragma once
#include <bit>
#include <cstdint>

#include "strata/core/dtype/dtype.h"

namespace strata {

/// The meaning of the largest codes of a float format.
/// ieee: top exponent is infinity and NaN. finite: no infinity, only S.1111.111 is NaN (OCP e4m3). fnuz: no infinity,
/// no minus zero, its code is the only NaN, and the bias is one larger.
enum class Specials : uint8_t { ieee, finite, fnuz };

struct FloatFormat {
    int exponent, mantissa;
    Specials specials;
    constexpr int bias() const { return (1 << (exponent - 1)) - 1 + (specials == Specials::fnuz); }
    constexpr uint64_t sign_bit() const { return uint64_t{1} << (exponent + mantissa); }
    constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent) - 1) << mantissa; }
    constexpr uint64_t largest() const {
        switch (specials) {
            case Specials::ieee: return infinity() - 1;
            case Specials::finite: return sign_bit() - 2;
            case Specials::fnuz: return sign_bit() - 1;
        }
        return 0;
    }
};

constexpr FloatFormat float_format(Scalar scalar) {
    constexpr struct {
        int exponent, mantissa;
    } rows[] = {
#define DTYPE(name, kind, bits, exponent, mantissa, ...) {exponent, mantissa},
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
    };
    Specials specials = scalar == Scalar::fp8e4m3                                        ? Specials::finite
                        : scalar == Scalar::fp8e4m3fnuz || scalar == Scalar::fp8e5m2fnuz ? Specials::fnuz
                                                                                         : Specials::ieee;
    return {rows[static_cast<int>(scalar)].exponent, rows[static_cast<int>(scalar)].mantissa, specials};
}

constexpr uint64_t overflow_code(const FloatFormat& f, uint64_t sign) {
    switch (f.specials) {
        case Specials::ieee: return sign | f.infinity();
        case Specials::finite: return sign | (f.sign_bit() - 1);
        case Specials::fnuz: return f.sign_bit();
    }
    return 0;
}

/// A double's NaN: the upper bits of its payload are kept, as the format has room for them.
constexpr uint64_t nan_code(const FloatFormat& f, uint64_t sign, uint64_t payload) {
    if (f.specials != Specials::ieee) return overflow_code(f, sign);
    payload >>= 52 - f.mantissa;
    return sign | f.infinity() | (payload ? payload : uint64_t{1} << (f.mantissa - 1));
}

/// Nearest value of the format, ties to even. All but float64 are narrower than double in exponent and mantissa.
constexpr uint64_t encode_float(const FloatFormat& f, double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    if (f.mantissa == 52) return bits;
    const uint64_t sign = bits >> 63 ? f.sign_bit() : 0;
    const uint64_t zero = f.specials == Specials::fnuz ? 0 : sign;
    const int from = static_cast<int>(bits >> 52 & 0x7ff);
    const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
    if (from == 0x7ff) return fraction ? nan_code(f, sign, fraction) : overflow_code(f, sign);
    if (from == 0) return zero;
    int to = from - 1023 + f.bias();
    int shift = 52 - f.mantissa;
    if (to <= 0) {
        shift += 1 - to;
        to = 1;
    }
    if (shift > 53) return zero;
    const uint64_t significand = fraction | uint64_t{1} << 52;
    uint64_t kept = significand >> shift;
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // `kept` holds the hidden bit of a normal number, so a carry moves into the exponent by itself.
    const uint64_t code = kept + (static_cast<uint64_t>(to - 1) << f.mantissa);
    if (code > f.largest()) return overflow_code(f, sign);
    return code ? sign | code : zero;
}

constexpr double decode_float(const FloatFormat& f, uint64_t bits) {
    if (f.mantissa == 52) return std::bit_cast<double>(bits);
    const uint64_t sign = bits & f.sign_bit() ? uint64_t{1} << 63 : 0;
    const uint64_t code = bits & (f.sign_bit() - 1);
    const uint64_t exponent = code >> f.mantissa, fraction = code & ((uint64_t{1} << f.mantissa) - 1);
    const uint64_t wide_fraction = fraction << (52 - f.mantissa);
    constexpr uint64_t infinity = uint64_t{0x7ff} << 52, quiet = uint64_t{1} << 51;
    switch (f.specials) {
        case Specials::ieee:
            if (code >= f.infinity()) return std::bit_cast<double>(sign | infinity | wide_fraction);
            break;
        case Specials::finite:
            if (code > f.largest()) return std::bit_cast<double>(sign | infinity | quiet);
            break;
        case Specials::fnuz:
            if (bits == f.sign_bit()) return std::bit_cast<double>(infinity | quiet);
            break;
    }
    if (exponent)
        return std::bit_cast<double>(sign | (exponent - static_cast<uint64_t>(f.bias()) + 1023) << 52 | wide_fraction);
    const double unit = std::bit_cast<double>(static_cast<uint64_t>(1 - f.bias() - f.mantissa + 1023) << 52);
    const double magnitude = static_cast<double>(fraction) * unit;
    return sign ? -magnitude : magnitude;
}

}  // namespace strata
