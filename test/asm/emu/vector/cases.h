#pragma once
#include <bit>

#include "case.h"
#include "dot_reference.h"

// The instructions of cases.inc with their references.
namespace strata::emu::valu_test {

// ---- references too long for a row ----
inline uint32_t norm_i16(Wide x) {
    return std::isnan(x) ? 0
                         : static_cast<uint32_t>(std::lrint(static_cast<float>(std::clamp<Wide>(x, -1, 1)) * 32767.0f));
}
inline uint32_t norm_u16(Wide x) {
    return std::isnan(x) ? 0
                         : static_cast<uint32_t>(std::lrint(static_cast<float>(std::clamp<Wide>(x, 0, 1)) * 65535.0f));
}
inline int frexp_exponent(Wide x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}
inline Wide frexp_mantissa(Wide x) {
    int exponent = 0;
    return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}
struct Cube {
    float id, s, t, axis;
};
inline Cube cube(const In& in) {
    const float x = in.f(0), y = in.f(1), z = in.f(2);
    if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y))
        return {z < 0 ? 5.0f : 4.0f, z < 0 ? -x : x, -y, 2 * z};
    if (std::fabs(y) >= std::fabs(x)) return {y < 0 ? 3.0f : 2.0f, x, y < 0 ? -z : z, 2 * y};
    return {x < 0 ? 1.0f : 0.0f, x < 0 ? z : -z, -y, 2 * x};
}
inline uint32_t permuted(const In& x) {
    const uint64_t data = uint64_t{x.u(0)} << 32 | x.u(1);
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) r |= byte_permute(data, x.u(2) >> (8 * i) & 255) << (8 * i);
    return r;
}
inline uint64_t quad(const In& x, bool masked) {
    uint64_t r = 0;
    for (int i = 0; i < 4; ++i)
        r |= uint64_t{(sad(static_cast<uint32_t>(x.q(0) >> (8 * i)), x.u(2), masked) +
                       static_cast<uint32_t>(x.q(2) >> (16 * i) & 0xffff)) &
                      0xffff}
             << (16 * i);
    return r;
}
inline Out quad32(const In& x) {
    Out out;
    for (int i = 0; i < 4; ++i) out.w[i] = sad(static_cast<uint32_t>(x.q(0) >> (8 * i)), x.u(2), true) + x.u(2 + i);
    return out;
}
inline uint32_t lerp(const In& x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i += 8) r |= ((x.u(0) >> i & 255) + (x.u(1) >> i & 255) + (x.u(2) >> i & 1)) / 2 << i;
    return r;
}
inline uint32_t fixup16(const In& x) {
    const Wide d = x.h(1), n = x.h(2);
    const uint32_t sign = (x.u16(1) ^ x.u16(2)) & 0x8000;
    if (std::isnan(n)) return x.u16(2) | 0x200;
    if (std::isnan(d)) return x.u16(1) | 0x200;
    if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return 0xfe00;
    if (d == 0 || std::isinf(n)) return sign | 0x7c00;
    if (std::isinf(d) || n == 0) return sign;
    return sign | (x.u16(0) & 0x7fff);
}
inline uint32_t dot(const In& x, int width, bool signed_a, bool signed_b, bool clamp) {
    int64_t sum = x.i(2);
    for (int i = 0; i < 32; i += width) {
        const uint64_t a = x.u(0) >> i & ((1u << width) - 1), b = x.u(1) >> i & ((1u << width) - 1);
        sum += (signed_a ? sext(a, width) : static_cast<int64_t>(a)) *
               (signed_b ? sext(b, width) : static_cast<int64_t>(b));
    }
    return static_cast<uint32_t>(clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
}
inline float flushed(Wide x) { return static_cast<float>(std::fabs(x) < 0x1p-126L ? std::copysign(Wide(0), x) : x); }
inline constexpr Wide kPi = 3.14159265358979323846264338327950288L;
/// Exact at multiples of a quarter turn.
inline Wide sine(Wide turns) {
    if (std::isinf(turns) || std::isnan(turns)) return std::numeric_limits<Wide>::quiet_NaN();
    const Wide r = turns - std::nearbyint(turns);
    if (std::fabs(r) == 0.5L) return 0;
    return r == 0 ? std::copysign(r, turns) : std::sin(2 * kPi * r);
}
inline Wide cosine(Wide turns) {
    if (std::isinf(turns) || std::isnan(turns)) return std::numeric_limits<Wide>::quiet_NaN();
    const Wide r = std::fabs(turns - std::nearbyint(turns));
    return r == 0.25L ? 0 : std::cos(2 * kPi * r);
}

inline constexpr Case kCases[] = {
#define CASE(text, check, ...) {text, Check::check, [](const In& x) { return Out(__VA_ARGS__); }},
#include "cases.inc"
#undef CASE
};

}  // namespace strata::emu::valu_test
