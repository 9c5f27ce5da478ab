#include "strata/core/uop/reference.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace strata {
namespace {

using Value = std::optional<ConstArg>;
struct Operands {
    Op op;
    DType type, source;
    std::span<const ConstArg> v;
    bool is_unsigned() const { return source.is_unsigned(); }
    uint64_t u(size_t k) const { return static_cast<uint64_t>(v[k].i); }
};

// floats: computed in double, rounded once. For + - * / and sqrt of formats up to float32 that is the correctly rounded
// result, since double has more than twice their precision.

using Unary = double (*)(double);
double recip(double x) { return 1 / x; }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double negate(double x) { return -x; }
// Round half to even whatever the host's rounding mode is set to: it is left at its default everywhere in Strata.
double rint_even(double x) { return std::nearbyint(x); }

Unary float_unary(Op op) {
    switch (op) {
        case Op::neg: return negate;
        case Op::recip: return recip;
        case Op::sqrt: return std::sqrt;
        case Op::rsqrt: return rsqrt;
        case Op::exp2: return std::exp2;
        case Op::log2: return std::log2;
        case Op::exp: return std::exp;
        case Op::log: return std::log;
        case Op::sin: return std::sin;
        case Op::cos: return std::cos;
        case Op::tanh: return std::tanh;
        case Op::erf: return std::erf;
        case Op::floor: return std::floor;
        case Op::ceil: return std::ceil;
        case Op::trunc: return std::trunc;
        case Op::rint: return rint_even;
        case Op::abs: return std::fabs;
        default: return nullptr;
    }
}

double float_max(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;  // +0 is the larger zero
    return a < b ? b : a;
}

/// a * b + c rounded to odd in double: the product of two narrow floats is exact, and the sum keeps one sticky bit, so
/// that the rounding to the narrow type is the only one.
double fma_to_odd(double a, double b, double c) {
    double product = a * b, sum = product + c;
    if (!std::isfinite(sum)) return sum;
    double from_c = sum - product, lost = (product - (sum - from_c)) + (c - from_c);
    auto bits = std::bit_cast<uint64_t>(sum);
    if (lost == 0 || (bits & 1)) return sum;
    bool away = (lost > 0) == (sum > 0);
    return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

Value float_value(const Operands& o) {
    auto number = [&](double x) -> Value { return ConstArg{0, round_to(o.type, x)}; };
    auto truth = [](bool b) -> Value { return ConstArg{b, 0}; };
    if (Unary f = float_unary(o.op)) return number(f(o.v[0].f));
    double a = o.v[0].f, b = o.v.size() > 1 ? o.v[1].f : 0;
    switch (o.op) {
        case Op::add: return number(a + b);
        case Op::sub: return number(a - b);
        case Op::mul: return number(a * b);
        case Op::fdiv: return number(a / b);
        case Op::max: return number(float_max(a, b));
        case Op::min: return number(-float_max(-a, -b));
        case Op::pow: return number(std::pow(a, b));
        case Op::cmplt: return truth(a < b);
        case Op::cmpeq: return truth(a == b);
        case Op::cmpne: return truth(a != b);
        case Op::fma:
            return number(o.type.scalar == Scalar::float64 ? std::fma(a, b, o.v[2].f) : fma_to_odd(a, b, o.v[2].f));
        default: return {};
    }
}

// integers: computed modulo 2^64, wrapped to the type.

uint64_t int_pow(uint64_t base, uint64_t exponent) {
    uint64_t out = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) out *= base;
    return out;
}

int64_t quotient(const Operands& o) {
    if (o.v[1].i == 0) return 0;
    if (o.is_unsigned()) return static_cast<int64_t>(o.u(0) / o.u(1));
    return o.v[1].i == -1 ? static_cast<int64_t>(-o.u(0)) : o.v[0].i / o.v[1].i;
}
int64_t remainder(const Operands& o) {
    if (o.v[1].i == 0 || o.v[1].i == -1) return o.is_unsigned() && o.v[1].i ? static_cast<int64_t>(o.u(0) % o.u(1)) : 0;
    return o.is_unsigned() ? static_cast<int64_t>(o.u(0) % o.u(1)) : o.v[0].i % o.v[1].i;
}
bool less(const Operands& o) { return o.is_unsigned() ? o.u(0) < o.u(1) : o.v[0].i < o.v[1].i; }

Value shifted(const Operands& o) {
    if (o.v[1].i < 0 || o.v[1].i >= o.type.bits() || o.type.is_bool()) return {};
    auto by = static_cast<int>(o.v[1].i);
    if (o.op == Op::shl) return ConstArg{wrap_to(o.type, static_cast<int64_t>(o.u(0) << by)), 0};
    return ConstArg{o.is_unsigned() ? static_cast<int64_t>(o.u(0) >> by) : o.v[0].i >> by, 0};
}

/// What a negative power gives in C code that rounds a real power toward zero.
int64_t power(const Operands& o) {
    int64_t base = o.v[0].i, exponent = o.v[1].i;
    if (o.is_unsigned() || exponent >= 0) return static_cast<int64_t>(int_pow(o.u(0), o.u(1)));
    if (base == 1) return 1;
    return base == -1 ? (exponent & 1 ? -1 : 1) : 0;
}

Value int_value(const Operands& o) {
    const bool is_bool = o.source.is_bool();
    auto wrap = [&](uint64_t x) -> Value { return ConstArg{wrap_to(o.type, static_cast<int64_t>(x)), 0}; };
    auto truth = [](bool b) -> Value { return ConstArg{b, 0}; };
    uint64_t a = o.u(0), b = o.v.size() > 1 ? o.u(1) : 0;
    switch (o.op) {
        case Op::neg: return wrap(-a);
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::rint: return o.v[0];
        case Op::abs: return wrap(!o.is_unsigned() && o.v[0].i < 0 ? -a : a);
        case Op::logical_not: return truth(a == 0);
        case Op::bit_not: return is_bool ? truth(a == 0) : wrap(~a);
        case Op::add: return wrap(a + b);
        case Op::sub: return wrap(a - b);
        case Op::mul: return wrap(a * b);
        case Op::idiv: return wrap(static_cast<uint64_t>(quotient(o)));
        case Op::mod: return wrap(static_cast<uint64_t>(remainder(o)));
        case Op::max: return o.v[less(o) ? 1 : 0];
        case Op::min: return o.v[less(o) ? 0 : 1];
        case Op::pow: return wrap(static_cast<uint64_t>(power(o)));
        case Op::bit_and: return wrap(a & b);
        case Op::bit_or: return wrap(a | b);
        case Op::bit_xor: return wrap(a ^ b);
        case Op::shl:
        case Op::shr: return shifted(o);
        case Op::cmplt: return truth(less(o));
        case Op::cmpeq: return truth(a == b);
        case Op::cmpne: return truth(a != b);
        case Op::fma: return wrap(a * b + o.u(2));
        default: return {};
    }
}

Value cast_value(const Operands& o) {
    const ConstArg& from = o.v[0];
    if (o.source.is_float())
        return o.type.is_float() ? ConstArg{0, round_to(o.type, from.f)} : ConstArg{float_to_int(o.type, from.f), 0};
    if (o.type.is_float()) return ConstArg{0, int_to_float(o.type, from.i, o.source.is_unsigned())};
    return ConstArg{wrap_to(o.type, from.i), 0};
}

Value bitcast_value(const Operands& o) {
    if (o.type.bits() != o.source.bits() || o.type.is_bool() || o.source.is_bool()) return {};
    uint64_t bits = o.source.is_float() ? encode_scalar(o.source, o.v[0].f) : o.u(0);
    if (o.source.bits() < 64) bits &= (uint64_t{1} << o.source.bits()) - 1;  // integers are kept sign-extended
    if (o.type.is_float()) return ConstArg{0, decode_scalar(o.type, bits)};
    return ConstArg{wrap_to(o.type, static_cast<int64_t>(bits)), 0};
}

}  // namespace

Value reference(Op op, DType type, DType source, std::span<const ConstArg> values) {
    if (type.scalar == Scalar::none || source.scalar == Scalar::none) return {};
    Operands o{op, type.element(), source.element(), values};
    if (op == Op::where) return values[0].i ? values[1] : values[2];
    if (op == Op::cast) return cast_value(o);
    if (op == Op::bitcast) return bitcast_value(o);
    return o.source.is_float() ? float_value(o) : int_value(o);
}

UOp fold(UOp node) {
    if (!info(node.op()).elementwise()) return {};
    std::array<ConstArg, 3> values;
    for (size_t i = 0; i < node.src().size(); i++) {
        UOp s = node.src()[i];
        if (!s.is_const()) return {};
        values[i] = s.as<ConstArg>();
    }
    if (node.dtype().lanes > 1 && node.is(Op::bitcast)) return {};
    Value value =
        reference(node.op(), node.dtype(), node.src().back().dtype(), std::span(values.data(), node.src().size()));
    return value ? make(Op::constant, node.dtype(), {}, *value) : UOp();
}

}  // namespace strata
