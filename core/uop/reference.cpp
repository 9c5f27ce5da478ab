#include "strata/core/uop/reference.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "strata/core/uop/machine_value_p.h"

namespace strata {
namespace {

using Value = std::optional<ConstArg>;
struct Operands {
    Op op;
    DType type, source;
    std::span<const ConstArg> v;
    uint64_t u(size_t k) const { return k < v.size() ? static_cast<uint64_t>(v[k].i) : 0; }
    double f(size_t k) const { return k < v.size() ? v[k].f : 0; }
};

// Functions that the rows of ops.def call.
constexpr std::nullopt_t none = std::nullopt;

double float_max(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;  // +0 is the larger zero
    return a < b ? b : a;
}

/// a * b + c rounded to odd in double. The product of two narrow floats is exact, and the sum keeps one sticky bit. The
/// rounding to the narrow type is then the only one.
double fma_to_odd(double a, double b, double c) {
    double product = a * b, sum = product + c;
    if (!std::isfinite(sum)) return sum;
    double from_c = sum - product, lost = (product - (sum - from_c)) + (c - from_c);
    auto bits = std::bit_cast<uint64_t>(sum);
    if (lost == 0 || (bits & 1)) return sum;
    bool away = (lost > 0) == (sum > 0);
    return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

double fused(double a, double b, double c, DType type) {
    return type == dtypes::float64 ? std::fma(a, b, c) : fma_to_odd(a, b, c);
}

double logistic(double a) {
    const double power = std::exp(-std::abs(a));
    return (a < 0 ? power : 1) / (1 + power);
}

double normal_below(double a) { return static_cast<double>(std::erfc(-a * std::sqrt(0.5L)) / 2); }

uint64_t int_pow(uint64_t base, uint64_t exponent) {
    uint64_t out = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) out *= base;
    return out;
}

bool is_minus_one(uint64_t x, bool is_unsigned) { return !is_unsigned && static_cast<int64_t>(x) == -1; }
uint64_t quotient(uint64_t a, uint64_t b, bool is_unsigned) {
    if (b == 0) return 0;
    if (is_minus_one(b, is_unsigned)) return -a;
    return is_unsigned ? a / b : static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
}
uint64_t remainder(uint64_t a, uint64_t b, bool is_unsigned) {
    if (b == 0 || is_minus_one(b, is_unsigned)) return 0;
    return is_unsigned ? a % b : static_cast<uint64_t>(static_cast<int64_t>(a) % static_cast<int64_t>(b));
}
bool less(uint64_t a, uint64_t b, bool is_unsigned) {
    return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

std::optional<uint64_t> shifted_left(uint64_t a, uint64_t by, DType type) {
    if (by >= static_cast<uint64_t>(type.bits()) || type.is_bool()) return {};
    return a << by;
}
std::optional<uint64_t> shifted_right(uint64_t a, uint64_t by, DType type) {
    if (by >= static_cast<uint64_t>(type.bits()) || type.is_bool()) return {};
    return type.is_unsigned() ? a >> by : static_cast<uint64_t>(static_cast<int64_t>(a) >> by);
}

// Bits of an integer, which is kept extended to 64; bool has none.
std::optional<uint64_t> own_bits(uint64_t a, DType type) {
    if (type.is_bool()) return {};
    return a & ~uint64_t{0} >> (64 - type.bits());
}
std::optional<uint64_t> popcount(uint64_t a, DType type) {
    const auto bits = own_bits(a, type);
    return bits ? std::optional<uint64_t>(std::popcount(*bits)) : bits;
}
std::optional<uint64_t> leading_zeros(uint64_t a, DType type) {
    const auto bits = own_bits(a, type);
    return bits ? std::optional<uint64_t>(std::countl_zero(*bits) - (64 - type.bits())) : bits;
}
std::optional<uint64_t> trailing_zeros(uint64_t a, DType type) {
    const auto bits = own_bits(a, type);
    return bits ? std::optional<uint64_t>(std::min(std::countr_zero(*bits), type.bits())) : bits;
}
std::optional<uint64_t> reversed(uint64_t a, DType type) {
    std::optional<uint64_t> bits = own_bits(a, type);
    if (!bits) return {};
    uint64_t out = 0;
    for (int i = 0; i < type.bits(); ++i) out |= (*bits >> i & 1) << (type.bits() - 1 - i);
    return out;
}

std::optional<uint64_t> in_axis(uint64_t i, uint64_t size, DType type) {
    bool is_signed = !type.is_unsigned();
    if (type.is_bool() || (is_signed && static_cast<int64_t>(size) < 0)) return {};
    uint64_t at = is_signed && static_cast<int64_t>(i) < 0 ? i + size : i;
    return at < size ? std::optional(at) : std::nullopt;
}

/// The result of a negative power in C code that rounds a real power toward zero.
uint64_t power(uint64_t base, uint64_t exponent, bool is_unsigned) {
    if (is_unsigned || static_cast<int64_t>(exponent) >= 0) return int_pow(base, exponent);
    if (base == 1) return 1;
    return is_minus_one(base, false) ? (exponent & 1 ? base : 1) : 0;
}

/// A row's result, as a value of the node's type.
struct Rounded {
    DType type;
    Value operator()(double x) const { return ConstArg{0, round_to(type, x)}; }
    Value operator()(bool b) const { return ConstArg{b, 0}; }
    Value operator()(std::nullopt_t) const { return {}; }
};
struct Wrapped {
    DType type;
    Value operator()(uint64_t x) const { return ConstArg{wrap_to(type, static_cast<int64_t>(x)), 0}; }
    Value operator()(bool b) const { return ConstArg{b, 0}; }
    Value operator()(std::optional<uint64_t> x) const { return x ? (*this)(*x) : Value(); }
};

// Computed in double, rounded once. For + - * / and sqrt of formats up to float32 that is the correctly rounded result,
// since double has more than twice their precision. nearbyint rounds half to even: nothing in Strata changes the mode.
Value float_value(const Operands& o) {
    const DType type = o.type;
    const double a = o.f(0), b = o.f(1), c = o.f(2);
    switch (o.op) {
#define ELEMENTWISE(name, arity, flags, rule, cost, hip, value, ...) \
    case Op::name: return Rounded{type}(value);
#include "strata/core/uop/ops.def"
        default: return {};
    }
}

// Computed modulo 2^64, wrapped to the type.
Value int_value(const Operands& o) {
    const DType type = o.type;
    const bool is_unsigned = o.source.is_unsigned(), is_bool = o.source.is_bool();
    const uint64_t a = o.u(0), b = o.u(1), c = o.u(2);
    switch (o.op) {
#define ELEMENTWISE(name, arity, flags, rule, cost, hip, floats, value) \
    case Op::name: return Wrapped{type}(value);
#include "strata/core/uop/ops.def"
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

// Many elements at once. Results are rounded or wrapped in a second walk.
struct ArrayResults {
    double* f;
    int64_t* i;
    size_t missing;  ///< the first element without a value
    void put(size_t k, double x) { f[k] = x; }
    void put(size_t k, bool b) { i[k] = b; }
    void put(size_t k, uint64_t x) { i[k] = static_cast<int64_t>(x); }
    void put(size_t k, std::nullopt_t) { missing = std::min(missing, k); }
    void put(size_t k, std::optional<uint64_t> x) {
        i[k] = static_cast<int64_t>(x.value_or(0));
        if (!x) missing = std::min(missing, k);
    }
};

struct ArrayOperands {
    Op op;
    DType type, source;
    std::array<ReferenceArray, 3> v;
    size_t n;
};

void float_values(const ArrayOperands& o, ArrayResults& out) {
    const DType type = o.type;
    const auto& [x, y, z] = o.v;
    switch (o.op) {
#define ELEMENTWISE(name, arity, flags, rule, cost, hip, value, ...)                                     \
    case Op::name:                                                                                       \
        for (size_t k = 0; k < o.n; ++k) {                                                               \
            [[maybe_unused]] const double a = x.f[k * x.step], b = y.f[k * y.step], c = z.f[k * z.step]; \
            out.put(k, value);                                                                           \
        }                                                                                                \
        break;
#include "strata/core/uop/ops.def"
        default: out.missing = 0;
    }
}

void int_values(const ArrayOperands& o, ArrayResults& out) {
    const DType type = o.type;
    const bool is_unsigned = o.source.is_unsigned(), is_bool = o.source.is_bool();
    const auto& [x, y, z] = o.v;
    switch (o.op) {
#define ELEMENTWISE(name, arity, flags, rule, cost, hip, floats, value)             \
    case Op::name:                                                                  \
        for (size_t k = 0; k < o.n; ++k) {                                          \
            [[maybe_unused]] const auto a = static_cast<uint64_t>(x.i[k * x.step]), \
                                        b = static_cast<uint64_t>(y.i[k * y.step]), \
                                        c = static_cast<uint64_t>(z.i[k * z.step]); \
            out.put(k, value);                                                      \
        }                                                                           \
        break;
#include "strata/core/uop/ops.def"
        default: out.missing = 0;
    }
}

void round_all(DType type, size_t n, double* f) {
    if (type == dtypes::float64) return;
    if (type == dtypes::float32)
        for (size_t k = 0; k < n; ++k) f[k] = static_cast<double>(static_cast<float>(f[k]));
    else
        for (size_t k = 0; k < n; ++k) f[k] = round_to(type, f[k]);
}

void wrap_all(DType type, size_t n, int64_t* i) {
    if (type.scalar == Scalar::index || type.bits() == 64) return;
    for (size_t k = 0; k < n; ++k) i[k] = wrap_to(type, i[k]);
}

/// Casts, choices and machine ops: one element after the other.
size_t single_values(const ArrayOperands& o, std::span<const ReferenceArray> values, ArrayResults& out) {
    std::array<ConstArg, 4> each;
    for (size_t k = 0; k < o.n; ++k) {
        for (size_t s = 0; s < values.size(); ++s) {
            const ReferenceArray& from = values[s];
            each[s] = {from.i ? from.i[k * from.step] : 0, from.f ? from.f[k * from.step] : 0};
        }
        const Value value = reference(o.op, o.type, o.source, std::span(each).first(values.size()));
        if (!value) out.missing = std::min(out.missing, k);
        if (o.type.is_float())
            out.f[k] = value ? value->f : 0;
        else
            out.i[k] = value ? value->i : 0;
    }
    return out.missing;
}

}  // namespace

size_t reference(Op op, DType type, DType source, std::span<const ReferenceArray> values, size_t n, double* f,
                 int64_t* i) {
    static constexpr double kNoFloat = 0;
    static constexpr int64_t kNoInt = 0;
    ArrayOperands o{op, type.element(), source.element(), {}, n};
    ArrayResults out{f, i, n};
    const bool narrows = op == Op::cast && o.type.is_float() && o.source.is_float();
    const bool has_row = info(op).elementwise() && op != Op::where && op != Op::cast && op != Op::bitcast;
    if (!has_row && !narrows) return single_values(o, values, out);
    for (size_t s = 0; s < o.v.size(); ++s)
        o.v[s] = s < values.size() ? values[s] : ReferenceArray{&kNoFloat, &kNoInt, 0};
    if (narrows)
        for (size_t k = 0; k < n; ++k) f[k] = o.v[0].f[k * o.v[0].step];
    else if (o.source.is_float())
        float_values(o, out);
    else
        int_values(o, out);
    if (o.type.is_float())
        round_all(o.type, n, f);
    else if (!o.type.is_bool() || !o.source.is_float())
        wrap_all(o.type, n, i);
    return out.missing;
}

Value reference(Op op, DType type, DType source, std::span<const ConstArg> values) {
    if (type.scalar == Scalar::none || source.scalar == Scalar::none) return {};
    Operands o{op, type.element(), source.element(), values};
    if (info(op).is(kMachine)) return machine_value(op, o.type, o.source, values);
    if (op == Op::where) return values[0].i ? values[1] : values[2];
    if (op == Op::cast) return cast_value(o);
    if (op == Op::bitcast) return bitcast_value(o);
    return o.source.is_float() ? float_value(o) : int_value(o);
}

UOp fold(UOp node) {
    if (!info(node.op()).elementwise()) return {};
    std::array<ConstArg, 3> values;
    for (size_t i = 0; i < node.src().size(); ++i) {
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
