#include <cmath>
#include <limits>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/special_p.h"

namespace strata {

using namespace ops;

namespace {

enum class Accept { any, comparable, number, wide_number, integer, bits, logic, floating, wide };
constexpr std::string_view kAccepted[] = {
    "any type", "any type", "integers and floats", "integers and floats", "integers", "integers and bool", "any type",
    "any type", "any type"};

/// Functions made of several operations: narrow floats are computed as float32 and rounded once.
constexpr bool computes_wide(Accept accepts) { return accepts == Accept::wide || accepts == Accept::wide_number; }
bool is_narrow(DType type) { return type.is_float() && type.bits() < 32; }

/// The type operands are turned into before the operation.
DType prepared_dtype(std::string_view name, Accept accepts, DType type) {
    bool fits = accepts == Accept::number || accepts == Accept::wide_number ? !type.is_bool()
                : accepts == Accept::integer                                ? type.is_integer()
                : accepts == Accept::bits                                   ? !type.is_float()
                                                                            : true;
    if (!fits)
        user_error(ErrorKind::DType, "[{}] takes {}, not {}; cast first", name, kAccepted[static_cast<int>(accepts)],
                   type.name());
    if (accepts == Accept::logic) return dtypes::boolean;
    if ((accepts == Accept::floating || accepts == Accept::wide) && !type.is_float()) return dtypes::float32;
    return computes_wide(accepts) && is_narrow(type) ? dtypes::float32 : type;
}

Tensor converted(const Operand& x, DType type) {
    if (x.tensor()) return x.tensor()->cast(type);
    GraphScope scope;
    return Tensor::uniform(x.number().constant(type), {});
}

struct Pair {
    Tensor a, b;
};
/// Integers and a number that their type does not have, as a pair that compares like them. It is 0 or 2 with 1 for
/// integers below and above it, and 0 with NaN. Empty where the type has the number.
std::optional<Pair> outside_of_type(const Tensor& x, const Number& n) {
    DType type = x.dtype();
    if (std::isnan(n.as_double())) return Pair{like(x.cast(dtypes::float32), 0), like(x.cast(dtypes::float32), n)};
    double whole = std::floor(n.as_double());
    bool is_unsigned = type == dtypes::uint64;
    double low = static_cast<double>(int_min(type)),
           high = is_unsigned ? 0x1p64 : static_cast<double>(int_max(type)) + 1;
    if (type.bits() == 64 && !is_unsigned) high = 0x1p63;
    bool is_int = n.kind == Kind::Bool || n.kind == Kind::Int, is_float = n.kind == Kind::Float;
    bool under = is_int ? n.i < int_min(type) : whole < low;
    bool over = is_int ? !is_unsigned && n.i > int_max(type) : is_float ? whole >= high : !is_unsigned;
    if (!under && !over && (!is_float || whole == n.f)) return {};
    Tensor small = like(x.cast(dtypes::int32), 0), large = like(small, 2), between = like(small, 1);
    if (under || over) return Pair{over ? small : large, between};
    Tensor limit = like(x, is_unsigned ? Number(static_cast<uint64_t>(whole)) : Number(static_cast<int64_t>(whole)));
    return Pair{select(op(Op::cmplt, limit, x), large, small), between};
}

/// A float that an integer type has, as an integer: comparing rounds neither side.
std::optional<Pair> exact_pair(const Operand& a, const Operand& b) {
    const Tensor* x = a.tensor() ? a.tensor() : b.tensor();
    const Number& n = a.tensor() ? b.number() : a.number();
    if (!x || x->dtype().is_float() || (a.tensor() && b.tensor())) return {};
    Tensor whole = x->dtype().is_bool() ? x->cast(dtypes::int32) : *x;
    std::optional<Pair> pair = outside_of_type(whole, n);
    if (!pair) pair = Pair{whole, like(whole, n)};
    if (!a.tensor()) std::swap(pair->a, pair->b);
    return pair;
}

Pair prepare(std::string_view name, Accept accepts, const Operand& a, const Operand& b) {
    if (accepts == Accept::comparable)
        if (std::optional<Pair> exact = exact_pair(a, b)) return *exact;
    if (a.tensor() && b.tensor()) common_device(name, *a.tensor(), *b.tensor());
    DType type = prepared_dtype(name, accepts, result_type(a, b));
    Pair p{converted(a, type), converted(b, type)};
    if (p.a.shape() != p.b.shape()) {
        Shape shape = broadcast_shapes(name, p.a.shape(), p.b.shape());
        p.a = expand_to(p.a, shape);
        p.b = expand_to(p.b, shape);
    }
    return p;
}

// The values of the rows. Operands have one type and one shape.

Tensor negative(const Tensor& x) { return op(Op::cmplt, x, like(x, 0)); }

Tensor sign_of(const Tensor& x) {
    Tensor zero = like(x, 0), one = like(x, 1);
    if (x.dtype().is_unsigned()) return op(Op::min, x, one);
    Tensor rest = x.dtype().is_float() ? select(op(Op::cmpeq, x, zero), zero, x) : zero;  // of -0: 0; of NaN: NaN
    return select(negative(x), like(x, -1), select(op(Op::cmplt, zero, x), one, rest));
}

Tensor rounded(Op o, const Tensor& x) { return x.dtype().is_float() ? op(o, x) : x; }

Tensor all_false(const Tensor& x) {
    return Tensor::uniform(constant_int(dtypes::boolean, 0), x.shape(), x.placement());
}

bool has_infinity(DType t) { return t.is_float() && std::isinf(round_to(t, std::numeric_limits<double>::infinity())); }

Tensor is_nan(const Tensor& x) { return x.dtype().is_float() ? op(Op::cmpne, x, x) : all_false(x); }

Tensor is_inf(const Tensor& x) {
    if (!has_infinity(x.dtype())) return all_false(x);
    return op(Op::cmpeq, op(Op::abs, x), like(x, std::numeric_limits<double>::infinity()));
}

Tensor is_finite(const Tensor& x) {
    if (!has_infinity(x.dtype())) return op(Op::logical_not, is_nan(x));
    return op(Op::cmplt, op(Op::abs, x), like(x, std::numeric_limits<double>::infinity()));
}

Tensor less_or_equal(const Tensor& a, const Tensor& b) {
    if (!a.dtype().is_float()) return op(Op::logical_not, op(Op::cmplt, b, a));
    return op(Op::bit_or, op(Op::cmplt, a, b), op(Op::cmpeq, a, b));  // false with NaN
}

/// True if a truncated remainder r must move by one divisor to get the divisor's sign.
Tensor wrong_sign(const Tensor& r, const Tensor& b) {
    if (b.value().is_const() && const_value(b.value()) > 0) return negative(r);
    return op(Op::bit_and, op(Op::cmpne, r, like(r, 0)), op(Op::cmpne, negative(r), negative(b)));
}

struct Division {
    Tensor quotient, remainder;
};

/// floor(a / b) and a - floor(a / b) * b of floats, as NumPy has them: from the exact remainder of the truncated
/// quotient. A zero remainder has the divisor's sign, a zero quotient that of a / b; a remainder may round to the
/// divisor.
Division floor_division(const Tensor& a, const Tensor& b) {
    Tensor r = op(Op::fmod, a, b), zero = like(a, 0), one = like(a, 1), direct = op(Op::fdiv, a, b);
    Tensor below = wrong_sign(r, b);
    Tensor q = op(Op::fdiv, op(Op::sub, a, r), b);  // an integer, but for its rounding
    q = select(below, op(Op::sub, q, one), q);
    Tensor whole = op(Op::floor, q);
    whole = select(op(Op::cmplt, like(a, 0.5), op(Op::sub, q, whole)), op(Op::add, whole, one), whole);
    q = select(op(Op::cmpeq, q, zero), op(Op::mul, direct, zero), whole);  // the sign of a / b
    Tensor nothing = select(negative(b), like(a, -0.0), zero);
    return {select(op(Op::cmpeq, b, zero), direct, q),
            select(op(Op::cmpeq, r, zero), nothing, select(below, op(Op::add, r, b), r))};
}

Tensor floor_quotient(const Tensor& a, const Tensor& b) {
    if (a.dtype().is_unsigned()) return op(Op::idiv, a, b);
    if (a.dtype().is_float()) return floor_division(a, b).quotient;
    Tensor q = op(Op::idiv, a, b);
    Tensor r = op(Op::sub, a, op(Op::mul, q, b));
    return select(wrong_sign(r, b), op(Op::sub, q, like(q, 1)), q);
}

Tensor floor_remainder(const Tensor& a, const Tensor& b) {
    if (a.dtype().is_unsigned()) return op(Op::mod, a, b);
    if (a.dtype().is_float()) return floor_division(a, b).remainder;
    Tensor r = op(Op::mod, a, b);
    return select(wrong_sign(r, b), op(Op::add, r, b), r);
}

/// x^n for a known n >= 1, by squaring.
Tensor repeated_product(Tensor x, int64_t n) {
    Tensor out;
    for (;; x = op(Op::mul, x, x)) {
        if (n & 1) out = out ? op(Op::mul, out, x) : x;
        if (!(n >>= 1)) return out;
    }
}

/// Integer powers modulo 2^bits. A negative exponent gives the truncated 1 / x^n: 0, except for x = 1 and -1.
Tensor integer_power(const Tensor& a, const Tensor& b) {
    Tensor out = like(a, 1), x = a, zero = like(a, 0), one = like(a, 1);
    int bits = b.dtype().bits() - (b.dtype().is_unsigned() ? 0 : 1);
    for (int k = 0; k < bits; ++k) {
        Tensor bit = op(Op::bit_and, k ? op(Op::shr, b, like(b, k)) : b, one);
        out = select(op(Op::cmpeq, bit, zero), out, op(Op::mul, out, x));
        if (k + 1 < bits) x = op(Op::mul, x, x);
    }
    if (b.dtype().is_unsigned()) return out;
    Tensor odd = op(Op::cmpne, op(Op::bit_and, b, one), zero);
    Tensor minus_one = op(Op::cmpeq, a, like(a, -1));
    Tensor inverse = select(op(Op::cmpeq, a, one), one, select(minus_one, select(odd, a, one), zero));
    return select(negative(b), inverse, out);
}

Tensor power(const Tensor& a, const Tensor& b) {
    constexpr int kLargestProduct = 16;  // a known power up to this is multiplied out, above it pow is as good
    UOp exponent = b.value();
    if (!a.dtype().is_float()) {
        if (!exponent.is_const()) return integer_power(a, b);
        int64_t n = const_int(exponent);
        if (n < 0 && !a.dtype().is_unsigned())
            user_error(ErrorKind::Usage, "[pow] integers to the power {}: cast to a float first", n);
        if (n < 0) return integer_power(a, b);
        return n == 0 ? like(a, 1) : repeated_product(a, n);
    }
    if (!exponent.is_const()) return op(Op::pow, a, b);
    double n = const_value(exponent);
    if (n == 0) return like(a, 1);
    if (n == 0.5) return op(Op::sqrt, a);
    if (n != std::trunc(n) || std::abs(n) > kLargestProduct) return op(Op::pow, a, b);
    Tensor product = repeated_product(a, static_cast<int64_t>(std::abs(n)));
    return n < 0 ? op(Op::recip, product) : product;
}

/// Shifts by the width or more, or by less than 0, are not defined for the op: here they give 0, or the sign.
Tensor shifts(const Tensor& by, int bits) {
    Tensor below = op(Op::cmplt, by, like(by, bits));
    return by.dtype().is_unsigned() ? below : op(Op::bit_and, below, op(Op::logical_not, negative(by)));
}

Tensor shifted_left(const Tensor& a, const Tensor& b) {
    int bits = a.dtype().bits();
    if (b.value().is_const() && const_int(b.value()) >= 0 && const_int(b.value()) < bits) return op(Op::shl, a, b);
    Tensor shifted = op(Op::shl, a, op(Op::bit_and, b, like(b, bits - 1)));
    return select(shifts(b, bits), shifted, like(a, 0));
}

Tensor shifted_right(const Tensor& a, const Tensor& b) {
    int bits = a.dtype().bits();
    if (b.value().is_const() && const_int(b.value()) >= 0 && const_int(b.value()) < bits) return op(Op::shr, a, b);
    if (!a.dtype().is_unsigned()) return op(Op::shr, a, select(shifts(b, bits), b, like(b, bits - 1)));
    Tensor shifted = op(Op::shr, a, op(Op::bit_and, b, like(b, bits - 1)));
    return select(shifts(b, bits), shifted, like(a, 0));
}

Tensor finished(Accept accepts, DType from, const Tensor& result) {
    return computes_wide(accepts) && is_narrow(from) ? result.cast(from) : result;
}

}  // namespace

#define UNARY(name, accepts, meaning, ...)                                \
    Tensor Tensor::name() const {                                         \
        GraphScope scope;                                                 \
        if (parts_) return complex_value(#name, *this);                   \
        Tensor x = cast(prepared_dtype(#name, Accept::accepts, dtype())); \
        return finished(Accept::accepts, dtype(), __VA_ARGS__);           \
    }                                                                     \
    Tensor ops::name(const Operand& x) { return as_tensor(x).name(); }
#define BINARY(name, accepts, meaning, ...)                                                  \
    Tensor ops::name(const Operand& left, const Operand& right) {                            \
        GraphScope scope;                                                                    \
        if (is_complex(left) || is_complex(right)) return complex_value(#name, left, right); \
        auto [a, b] = prepare(#name, Accept::accepts, left, right);                          \
        if constexpr (!computes_wide(Accept::accepts)) return __VA_ARGS__;                   \
        return finished(Accept::accepts, result_type(left, right), __VA_ARGS__);             \
    }                                                                                        \
    Tensor Tensor::name(const Operand& other) const { return ops::name(*this, other); }
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY

Tensor Tensor::clamp(std::optional<Number> min, std::optional<Number> max) const {
    auto operand = [](const std::optional<Number>& n) { return n ? std::optional<Operand>(*n) : std::nullopt; };
    return ops::clamp(*this, operand(min), operand(max));
}

Tensor Tensor::cast(DType to) const {
    if (dtype() == to) return *this;
    GraphScope scope;
    if (parts_ || to.is_complex()) return complex_cast(*this, to);
    UOp v = value(), result;
    bool fold = v.is_const() && (to.is_float() || to.is_bool() || !dtype().is_float());
    if (!fold)
        result = strata::cast(v, to);
    else if (to.is_float())
        result = constant(to, const_value(v));
    else if (to.is_bool())
        result = constant_int(to, const_value(v) != 0);
    else
        result = constant_int(to, const_int(v));
    return uniform_ ? uniform(result, uniform_shape_, device_) : Tensor(result, device_);
}

Tensor Tensor::bitcast(DType to) const {
    if (dtype().bits() != to.bits() || dtype().is_bool() != to.is_bool())
        user_error(ErrorKind::DType, "[bitcast] {} to {}: the types differ in width or one is bool", dtype().name(),
                   to.name());
    GraphScope scope;
    UOp result = strata::bitcast(value(), to);
    return uniform_ ? uniform(result, uniform_shape_, device_) : Tensor(result, device_);
}

namespace ops {

DType result_type(const Operand& a, const Operand& b) {
    if (a.tensor() && b.tensor()) {
        DType x = a.tensor()->dtype(), y = b.tensor()->dtype();
        return x == y ? x : promote(x, y);
    }
    if (a.tensor()) return b.number().dtype_with(a.tensor()->dtype());
    if (b.tensor()) return a.number().dtype_with(b.tensor()->dtype());
    DType x = a.number().default_dtype(), y = b.number().default_dtype();
    return x == y ? x : promote(x, y);
}

Tensor clamp(const Tensor& x, const std::optional<Operand>& min, const std::optional<Operand>& max) {
    Tensor out = min ? x.maximum(*min) : x;
    return max ? out.minimum(*max) : out;
}

Tensor where(const Operand& condition, const Operand& a, const Operand& b) {
    GraphScope scope;
    Tensor c = as_tensor(condition).cast(dtypes::boolean);
    if (is_complex(a) || is_complex(b)) return complex_where(c, a, b);
    auto [x, y] = prepare("where", Accept::any, a, b);
    common_device("where", c, x);
    common_device("where", c, y);
    Shape shape = broadcast_shapes("where", c.shape(), x.shape());
    return select(expand_to(c, shape), expand_to(x, shape), expand_to(y, shape));
}

}  // namespace ops
}  // namespace strata
