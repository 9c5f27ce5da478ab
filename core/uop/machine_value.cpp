// The values of the machine ops of ops.def.
#include "strata/core/uop/machine_value_p.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace strata {
namespace {

double scaled(double x, int by) { return std::ldexp(x, std::clamp(by, -5000, 5000)); }

/// Sine of an angle in turns.
double sine_of_turns(double a) { return std::sin(2 * std::numbers::pi * std::remainder(a, 1)); }

double mantissa(double x) {
    int unused;
    return std::frexp(x, &unused);
}
int exponent(double x) {
    int e = 0;
    if (std::isfinite(x)) std::frexp(x, &e);
    return e;
}

uint64_t product_high(uint64_t a, uint64_t b, bool is_unsigned) {
    return is_unsigned ? a * b >> 32 : static_cast<uint64_t>(static_cast<int64_t>(a) * static_cast<int64_t>(b) >> 32);
}

/// The exponent field of the encoding: 0 for denormals.
int exponent_field(DType type, double x) {
    return static_cast<int>(encode_scalar(type, x) >> type.mantissa_bits() & ((1u << type.exponent_bits()) - 1));
}

/// 1216 fractional bits of 2/pi, most significant first.
constexpr uint64_t kTwoOverPi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0,
};

/// RDNA3 ISA, V_TRIG_PREOP_F64.
double two_over_pi(double x, int segment) {
    const int field = exponent_field(dtypes::float64, x);
    const int shift = (segment & 31) * 53 + std::max(field - 1077, 0);
    if (shift > 1200) return 0;
    const size_t word = static_cast<size_t>(shift) / 64, offset = static_cast<size_t>(shift) % 64;
    const uint64_t low = word + 1 < 20 ? kTwoOverPi[word + 1] : 0;
    const uint64_t window = offset ? kTwoOverPi[word] << offset | low >> (64 - offset) : kTwoOverPi[word];
    return std::ldexp(static_cast<double>(window >> 11), -53 - shift + (field >= 1968 ? 128 : 0));
}

/// How v_div_scale keeps n / d away from overflow and denormals: exponents that are far apart, and by how much it
/// scales.
struct Division {
    int far, tiny_numerator, step, no_quotient, bias;
    explicit Division(DType type)
        : far(type == dtypes::float64 ? 768 : 96),
          tiny_numerator(type == dtypes::float64 ? 53 : 24),
          step(type == dtypes::float64 ? 128 : 64),
          no_quotient(type == dtypes::float64 ? -1075 : -150),
          bias((1 << (type.exponent_bits() - 1)) - 1) {}
};

/// RDNA3 ISA, V_DIV_SCALE_F32: x is the operand to scale, n or d.
double division_scale(DType type, double x, double n, double d) {
    const Division k(type);
    const int of_n = exponent_field(type, n), of_d = exponent_field(type, d), ratio = of_n - of_d;
    const bool is_d = encode_scalar(type, x) == encode_scalar(type, d);
    if (n == 0 || d == 0) return std::numeric_limits<double>::quiet_NaN();
    if (ratio >= k.far) return is_d ? std::ldexp(x, k.step) : x;
    if (of_d == 0) return std::ldexp(x, k.step);
    const bool small = ratio <= -k.far;
    if (of_d >= 2 * k.bias - 1) return !small || is_d ? std::ldexp(x, -k.step) : x;
    return (small ? !is_d : of_n <= k.tiny_numerator) ? std::ldexp(x, k.step) : x;
}
bool division_scales(DType type, double n, double d) {
    return std::abs(exponent_field(type, n) - exponent_field(type, d)) >= Division(type).far;
}

/// a * b + c rounded to odd: rounding it again to fewer bits is rounding once.
double fma_to_odd(double a, double b, double c) {
    const double sum = std::fma(a, b, c), lost = std::fma(a, b, c - sum);
    const auto bits = std::bit_cast<uint64_t>(sum);
    if (!std::isfinite(sum) || lost == 0 || std::isnan(lost) || (bits & 1)) return sum;
    return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
/// V_DIV_FMAS: c is the quotient but for the last rounding, so that c - fma(a, b, c) is exact.
double division_fma(DType type, double a, double b, double c, bool mask) {
    const Division k(type);
    const double plain = type == dtypes::float64 ? std::fma(a, b, c) : fma_to_odd(a, b, c);
    if (!mask) return plain;
    const double unit = std::ldexp(1, exponent_field(type, c) > k.bias ? k.step : -k.step), once = plain * unit;
    if (type != dtypes::float64 || std::fabs(once) > std::numeric_limits<double>::min()) return once;
    // A denormal double: what the fma rounded away decides where the scale left a tie.
    constexpr double least = std::numeric_limits<double>::denorm_min();
    const double beyond = plain - once / unit, away = std::fma(a, b, c - plain);
    if (std::fabs(beyond) != least / unit / 2) return once;
    return beyond > 0 && away > 0 ? once + least : beyond < 0 && away < 0 ? once - least : once;
}

/// V_DIV_FIXUP.
double division_fixup(DType type, double quotient, double d, double n) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(n) || std::isnan(d)) return n + d;
    if ((n == 0 && d == 0) || (std::isinf(n) && std::isinf(d))) return std::numeric_limits<double>::quiet_NaN();
    const double sign = std::signbit(n) != std::signbit(d) ? -1 : 1;
    if (d == 0 || std::isinf(n)) return sign * infinity;
    if (n == 0 || std::isinf(d)) return sign * 0.0;
    if (exponent_field(type, n) - exponent_field(type, d) < Division(type).no_quotient) return sign * 0.0;
    return sign * (std::isnan(quotient) ? infinity : std::fabs(quotient));
}

/// A row's result, as a value of the node's type.
struct Result {
    DType type;
    ConstArg operator()(double x) const { return {0, round_to(type, x)}; }
    ConstArg operator()(int x) const { return {x, 0}; }
    ConstArg operator()(uint64_t x) const { return {wrap_to(type, static_cast<int64_t>(x)), 0}; }
    ConstArg operator()(bool x) const { return {x, 0}; }
};

}  // namespace

std::optional<ConstArg> machine_value(Op op, DType type, DType source, std::span<const ConstArg> v) {
    auto at = [&](size_t k) { return k < v.size() ? v[k] : ConstArg{}; };
    const double a = at(0).f, b = at(1).f, c = at(2).f;
    const uint64_t i = static_cast<uint64_t>(at(0).i), k = static_cast<uint64_t>(at(1).i);
    const int j = static_cast<int>(at(1).i);
    const bool is_unsigned = type.is_unsigned(), predicate = at(3).i;
    switch (op) {
#define MACHINE(name, arity, hip, value) \
    case Op::name: return Result{type}(value);
#include "strata/core/uop/ops.def"
        default: return {};
    }
}

}  // namespace strata
