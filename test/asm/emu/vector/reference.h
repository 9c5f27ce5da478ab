#pragma once
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// Scalar arithmetic of the ISA document for one lane, written for clarity and apart from the emulator. Floats are
// widened to long double and rounded by explicit steps.
namespace strata::emu::reference {

using Wide = long double;

inline float to_float(uint32_t x) { return std::bit_cast<float>(x); }
inline double to_double(uint64_t x) { return std::bit_cast<double>(x); }

inline Wide half_value(uint32_t half) {
    const int exponent = static_cast<int>(half >> 10 & 31), mantissa = static_cast<int>(half & 0x3ff);
    const Wide sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? std::numeric_limits<Wide>::quiet_NaN() : sign * std::numeric_limits<Wide>::infinity();
    return sign * (exponent == 0 ? std::ldexp(Wide(mantissa), -24) : std::ldexp(Wide(1024 + mantissa), exponent - 25));
}

/// Rounds to a format of `digits` mantissa digits (hidden one included) and exponents from `least`, to nearest even or
/// to zero.
inline Wide rounded(Wide x, int digits, int least, Wide largest, bool to_zero = false) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent;
    std::frexp(x, &exponent);
    const int unit = std::max(exponent - digits, least);
    const Wide scaled = std::ldexp(x, -unit);
    const Wide integer = to_zero ? std::trunc(scaled) : std::nearbyint(scaled);
    const Wide result = std::ldexp(integer, unit);
    if (std::fabs(result) <= largest) return std::copysign(result, x);
    return std::copysign(to_zero ? largest : std::numeric_limits<Wide>::infinity(), x);
}
inline uint32_t half_bits(Wide x, bool to_zero = false) {
    if (std::isnan(x)) return 0x7e00;
    const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    const Wide r = std::fabs(rounded(x, 11, -24, 65504, to_zero));
    if (std::isinf(r)) return sign | 0x7c00;
    if (r == 0) return sign;
    int exponent;
    std::frexp(r, &exponent);
    if (exponent < -13) return sign | static_cast<uint32_t>(std::ldexp(r, 24));
    return sign | static_cast<uint32_t>(exponent + 14) << 10 |
           (static_cast<uint32_t>(std::ldexp(r, 11 - exponent)) & 0x3ff);
}
/// a * b + c of singles, as a number that rounds to a half as the exact one does. Bits that it cannot hold are kept in
/// its lowest place ("round to odd"), whatever the host's direction is.
inline Wide fused(Wide a, Wide b, Wide c) {
    const int direction = std::fegetround();
    std::fesetround(FE_TONEAREST);
    const Wide product = a * b, sum = product + c, other = sum - product;
    const Wide error = (product - (sum - other)) + (c - other);
    Wide result = sum;
    int exponent;
    if (std::isfinite(sum) && error != 0) {
        const auto digits = static_cast<uint64_t>(std::ldexp(std::fabs(std::frexp(sum, &exponent)), 64));
        if (digits % 2 == 0) result = std::nextafter(sum, std::copysign(std::numeric_limits<Wide>::infinity(), error));
    }
    std::fesetround(direction);
    const bool opposite = std::signbit(product) != std::signbit(c);
    return result == 0 && opposite ? std::copysign(Wide(0), direction == FE_DOWNWARD ? -1 : 1) : result;
}
inline uint32_t float_bits(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t double_bits(double x) { return std::bit_cast<uint64_t>(x); }

/// One lane's operands as the document names them.
struct In {
    uint32_t v[6];
    uint32_t old[4];
    bool carry = false;
    bool ieee = false;
    int lane = 0;
    uint32_t vcc_low = 0, vcc_high = 0;

    uint32_t u(int i) const { return v[i]; }
    int32_t i(int i) const { return static_cast<int32_t>(v[i]); }
    float f(int i) const { return to_float(v[i]); }
    uint64_t q(int i) const { return v[2 * i] | uint64_t{v[2 * i + 1]} << 32; }
    double d(int i) const { return to_double(q(i)); }
    Wide h(int i) const { return half_value(v[i] & 0xffff); }
    Wide hh(int i) const { return half_value(v[i] >> 16); }
    uint32_t u16(int i) const { return v[i] & 0xffff; }
    int32_t i16(int i) const { return static_cast<int16_t>(v[i]); }
    uint32_t hi16(int i) const { return v[i] >> 16; }
    int32_t shi16(int i) const { return static_cast<int16_t>(v[i] >> 16); }
};

struct Out {
    uint32_t w[4] = {};
    bool mask = false;

    Out() = default;
    Out(uint32_t x) : w{x} {}
    Out(int32_t x) : w{static_cast<uint32_t>(x)} {}
    Out(float x) : w{float_bits(x)} {}
    Out(uint64_t x) : w{static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)} {}
    Out(int64_t x) : Out(static_cast<uint64_t>(x)) {}
    Out(double x) : Out(double_bits(x)) {}
    Out with(bool bit) const {
        Out out = *this;
        out.mask = bit;
        return out;
    }
};

inline uint32_t pair(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }
template <class T>
T clamped(Wide x, T low, T high) {
    if (std::isnan(x)) return 0;
    if (x <= static_cast<Wide>(low)) return low;
    if (x >= static_cast<Wide>(high)) return high;
    return static_cast<T>(std::trunc(x));
}

/// Minimum or maximum of raw floats: `width` bits with `digits` stored mantissa bits.
inline uint64_t extreme(const In& in, uint64_t a, uint64_t b, int width, int digits, bool largest) {
    const uint64_t sign = uint64_t{1} << (width - 1), quiet = uint64_t{1} << (digits - 1);
    const uint64_t infinity = ((sign - 1) >> digits) << digits;
    auto nan = [&](uint64_t x) { return (x & (sign - 1)) > infinity; };
    auto signaling = [&](uint64_t x) { return nan(x) && !(x & quiet); };
    if (in.ieee && signaling(a)) return a | quiet;
    if (in.ieee && signaling(b)) return b | quiet;
    if (nan(b)) return a;
    if (nan(a)) return b;
    // Ordered as sign-magnitude integers, -0 lies below +0.
    auto order = [&](uint64_t x) {
        return x & sign ? -static_cast<__int128>(x & (sign - 1)) - 1 : static_cast<__int128>(x);
    };
    return (order(a) < order(b)) != largest ? a : b;
}
inline uint32_t fmin32(const In& in, uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(extreme(in, a, b, 32, 23, false));
}
inline uint32_t fmax32(const In& in, uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(extreme(in, a, b, 32, 23, true));
}
inline uint32_t fmin16(const In& in, uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(extreme(in, a, b, 16, 10, false));
}
inline uint32_t fmax16(const In& in, uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(extreme(in, a, b, 16, 10, true));
}
inline uint32_t fmed32(const In& in, uint32_t a, uint32_t b, uint32_t c) {
    if (std::isnan(to_float(a)) || std::isnan(to_float(b)) || std::isnan(to_float(c)))
        return fmin32(in, fmin32(in, a, b), c);
    const float top = to_float(fmax32(in, fmax32(in, a, b), c));
    return top == to_float(a) ? fmax32(in, b, c) : top == to_float(b) ? fmax32(in, a, c) : fmax32(in, a, b);
}
inline uint32_t fmed16(const In& in, uint32_t a, uint32_t b, uint32_t c) {
    if (std::isnan(half_value(a)) || std::isnan(half_value(b)) || std::isnan(half_value(c)))
        return fmin16(in, fmin16(in, a, b), c);
    const Wide top = half_value(fmax16(in, fmax16(in, a, b), c));
    return top == half_value(a) ? fmax16(in, b, c) : top == half_value(b) ? fmax16(in, a, c) : fmax16(in, a, b);
}

inline uint32_t abs_diff(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
inline uint32_t sad(uint32_t a, uint32_t b, bool masked) {
    uint32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t x = a >> (8 * i) & 255, y = b >> (8 * i) & 255;
        if (!masked || y) sum += abs_diff(x, y);
    }
    return sum;
}
inline uint32_t byte_permute(uint64_t data, uint32_t sel) {
    auto byte = [&](uint32_t i) { return static_cast<uint32_t>(data >> (8 * i) & 255); };
    if (sel >= 13) return 255;
    if (sel == 12) return 0;
    if (sel == 11) return byte(7) & 128 ? 255 : 0;
    if (sel == 10) return byte(5) & 128 ? 255 : 0;
    if (sel == 9) return byte(3) & 128 ? 255 : 0;
    if (sel == 8) return byte(1) & 128 ? 255 : 0;
    return byte(sel);
}
inline int32_t med3(int64_t a, int64_t b, int64_t c) {
    return static_cast<int32_t>(a + b + c - std::min({a, b, c}) - std::max({a, b, c}));
}
inline int64_t sext(uint64_t x, int bits) { return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits); }
inline Wide bf16_value(uint32_t x) { return to_float(x << 16); }
inline uint32_t bf16_bits(float x) {
    if (std::isnan(x)) return 0x7fc0;
    const uint32_t b = float_bits(x), low = b & 0xffff;
    uint32_t top = b >> 16;
    if (low > 0x8000 || (low == 0x8000 && (top & 1))) top++;
    return top;
}
inline Wide fract(Wide x, Wide below_one) { return std::min(x - std::floor(x), below_one); }

}  // namespace strata::emu::reference
