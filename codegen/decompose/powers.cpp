// Powers, and exponentials and logarithms of float64: logarithms in two floats.
#include <span>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/pairs_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

/// A constant as the sum of two of a type.
struct Split {
    double high, low;
    Split(DType type, double high_f32, double low_f32, double high_f64, double low_f64)
        : high(type == dtypes::float64 ? high_f64 : high_f32), low(type == dtypes::float64 ? low_f64 : low_f32) {}
};
Split two_log2e(DType t) { return {t, 0x1.715476p+1, 0x1.4ae0bep-25, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55}; }
Split third(DType t) { return {t, 0x1.555556p-2, -0x1.555556p-27, 0x1.5555555555555p-2, 0x1.5555555555555p-56}; }
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;

UOp reciprocal_guess(UOp x) { return x.dtype() == dtypes::float64 ? near_reciprocal(x) : rcp(x); }

/// log(x) = 2 half + e ln 2 of a positive x; half is within 2^-33 of itself in float32, 2^-64 in float64.
struct Log {
    Pair half;
    UOp e;
};
/// x = 2^e m, s = (m - 1) / (m + 1), log m = 2 atanh(s), atanh(s) = s (1 + z / 3 + z^2 tail), z = s^2.
Log log_parts(UOp x) {
    const DType type = x.dtype();
    UOp m = frexp_mant(x), e = frexp_exp(x), small = less(m, 0x1.6a09e6p-1);
    m = select(small, times(m, 2), m);
    e = cast(select(small, e - 1, e), type);
    UOp n = plus(m, -1), d = plus(m, 1), d_low = m - plus(d, -1), r = reciprocal_guess(d), guess = n * r;
    Pair s = sum(guess, fma(minus(guess), d_low, fma(minus(guess), d, n)) * r);
    Pair z = product(s.high, s.high);
    z.low = fma(times(s.high, 2), s.low, z.low);
    const Split c = third(type);
    Pair series = product(z.high, like(x, c.high));
    series.low = fma(z.low, c.high, fma(z.high, c.low, series.low));
    UOp tail =
        type == dtypes::float64 ? polynomial(z.high, polynomials::log_f64) : polynomial(z.high, polynomials::log_f32);
    series.low = fma(z.high * z.high, tail, series.low);
    Pair second = product(s.high, series.high), half = sum(s.high, second.high);
    UOp low = fma(s.high, series.low, fma(s.low, series.high, s.low + second.low));
    return {{half.high, half.low + low}, e};
}

Pair log2_pair(UOp x) {
    const Log log = log_parts(x);
    const Split unit = two_log2e(x.dtype());
    Pair p = product(log.half.high, like(x, unit.high));
    p.low = fma(log.half.high, unit.low, fma(log.half.low, unit.high, p.low));
    Pair whole = sum(log.e, p.high);
    return sum(whole.high, whole.low + p.low);
}

/// e^(r + low) of |r| < 0.35.
UOp exp_near_zero(UOp r, UOp low) { return plus(r + fma(r * r, polynomial(r, polynomials::exp_f64), low), 1); }
/// 2^(x + low) of |x| < 2^31.
UOp exp2_of_pair(UOp x, UOp low) {
    UOp whole = rint(x), f = x - whole;
    UOp power = cast(whole, dtypes::int32);
    if (x.dtype() == dtypes::float32) return ldexp(exp2_approx(f + low), power);
    Pair rest = any_sum(f, low);
    UOp r = times(rest.high, kLn2), in_r = fma(rest.high, kLn2, minus(r));
    UOp r_low = in_r + fma(rest.high, kLn2Low, times(rest.low, kLn2));
    return ldexp(exp_near_zero(r, r_low), power);
}

UOp is_odd(UOp y) {  // a whole number that is no even one
    UOp half = times(y, 0.5);
    return both(equal(trunc(y), y), differs(trunc(half), half));
}

/// C99's special cases around |x|^y.
UOp power_of(UOp x, UOp y, UOp value) {
    const DType bits = x.dtype().bits() == 64 ? dtypes::int64 : dtypes::int32;
    UOp size = magnitude(x), none = like(x, 0), all = like(x, kInfinity), one = like(x, 1);
    UOp whole = equal(trunc(y), y), falls = less(y, 0), is_zero = equal(size, 0), is_infinite = equal(size, kInfinity);
    UOp far = equal(magnitude(y), kInfinity);
    value = select(either(is_zero, is_infinite), select(differs(is_zero, falls), none, all), value);
    value = select(far, select(equal(size, 1), one, select(differs(less(size, 1), falls), none, all)), value);
    UOp no_root = both(both(less(x, 0), negation(whole)), negation(either(far, is_infinite)));
    value = select(no_root, kNan, value);
    value = select(both(less(bitcast(x, bits), 0), is_odd(y)), minus(value), value);
    value = select(either(is_nan(x), is_nan(y)), x + y, value);
    return select(either(equal(x, 1), equal(y, 0)), one, value);
}

/// The magnitude of y log2(x) is kept below `most`, beyond which everything over- or underflows.
UOp power(UOp x, UOp given, double largest_y, double most) {
    auto limited = [](UOp v, double limit) {
        return select(less(magnitude(v), limit), v, select(less(v, 0), like(v, -limit), like(v, limit)));
    };
    UOp y = limited(given, largest_y);
    Pair l = log2_pair(magnitude(x)), p = product(y, l.high);
    UOp low = select(less(magnitude(p.high), most), fma(y, l.low, p.low), 0);
    return power_of(x, given, exp2_of_pair(limited(p.high, most), low));
}

UOp log_special(UOp x, UOp value) {
    value = select(equal(x, kInfinity), x, value);
    value = select(less(0, x), value, select(equal(x, 0), like(x, -kInfinity), kNan));
    return value;
}

}  // namespace

UOp single_power(UOp u, const Target&) { return power(u.src(0), u.src(1), 0x1p33, 1000); }
UOp double_power(UOp u, const Target&) { return power(u.src(0), u.src(1), 0x1p65, 5000); }

UOp exp_of_wide(UOp x) {
    UOp whole = rint(times(x, 0x1.71547652b82fep+0)), h = fma(whole, -kLn2, x), t = times(whole, kLn2Low);
    UOp r = h - t, low = (h - r) - t;
    UOp value = ldexp(exp_near_zero(r, low), cast(whole, dtypes::int32));
    value = select(less(x, -0x1.74910d52d3053p+9), 0, value);
    return select(less(0x1.62e42fefa39efp+9, x), kInfinity, value);
}

UOp double_exp(UOp u, const Target&) { return exp_of_wide(u.src(0)); }
UOp double_exp2(UOp u, const Target&) {
    UOp x = u.src(0), value = exp2_of_pair(x, like(x, 0));
    value = select(less(x, -1076), 0, value);
    return select(less(x, 1024), value, select(is_nan(x), x, kInfinity));
}

UOp double_log2(UOp u, const Target&) { return log_special(u.src(0), log2_pair(u.src(0)).high); }
UOp double_log(UOp u, const Target&) {
    UOp x = u.src(0);
    const Log log = log_parts(x);
    // 32 bits of ln 2: the product with e is exact.
    Pair whole = sum(times(log.e, 0x1.62e42feep-1), times(log.half.high, 2));
    UOp low = fma(log.e, 0x1.a39ef35793c76p-33, times(log.half.low, 2));
    return log_special(x, whole.high + (whole.low + low));
}

}  // namespace strata::codegen
