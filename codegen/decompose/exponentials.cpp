// Exponentials, logarithms and powers of float32, from the machine's exp2 and log2. These take denormals for zeros: what
// is near them is scaled before and after.
#include <limits>
#include <span>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// log2(e) and ln(2) in two floats.
constexpr double kLog2E = 0x1.715476p+0, kLog2ELow = 0x1.4ae0bep-26, kLn2 = 0x1.62e42ep-1, kLn2Low = 0x1.efa39ep-25;

UOp as_float32(UOp x) { return cast(x, dtypes::float32); }

/// A value as the sum of two floats, the second small.
struct Pair {
    UOp high, low;
};
/// a + b of |a| >= |b|, exactly.
Pair sum(UOp a, UOp b) {
    UOp s = a + b;
    return {s, b - (s - a)};
}
Pair product(UOp a, UOp b) {
    UOp p = a * b;
    return {p, fma(a, b, minus(p))};
}

}  // namespace

// Every half is far from where float32 is denormal.
UOp half_exp2(UOp u, const Target&) { return cast(exp2_approx(as_float32(u.src(0))), u.dtype()); }
UOp half_exp(UOp u, const Target&) { return cast(exp2_approx(times(as_float32(u.src(0)), kLog2E)), u.dtype()); }
UOp half_log2(UOp u, const Target&) { return cast(log2_approx(as_float32(u.src(0))), u.dtype()); }
UOp half_log(UOp u, const Target&) { return cast(times(log2_approx(as_float32(u.src(0))), 0x1.62e430p-1), u.dtype()); }

UOp single_exp2(UOp u, const Target&) {
    UOp x = u.src(0), tiny = less(x, -126);
    return exp2_approx(x + select(tiny, like(x, 64), 0)) * select(tiny, like(x, 0x1p-64), 1);
}

/// x log2(e) as a whole number and a fraction; the second float of log2(e) goes to the fraction.
UOp single_exp(UOp u, const Target&) {
    UOp x = u.src(0), high = times(x, kLog2E), low = fma(x, kLog2ELow, fma(x, kLog2E, minus(high)));
    UOp whole = rint(high), y = ldexp(exp2_approx(high - whole + low), cast(whole, dtypes::int32));
    y = select(less(x, -0x1.9fe368p+6), 0, y);
    return select(less(0x1.62e430p+6, x), kInfinity, y);
}

UOp single_log2(UOp u, const Target&) {
    UOp x = u.src(0), tiny = less(x, 0x1p-126);
    return log2_approx(x * select(tiny, like(x, 0x1p32), 1)) - select(tiny, like(x, 32), 0);
}

UOp single_log(UOp u, const Target&) {
    UOp x = u.src(0), tiny = less(x, 0x1p-126);
    UOp y = log2_approx(x * select(tiny, like(x, 0x1p32), 1)), high = times(y, kLn2);
    UOp value = high + fma(y, kLn2Low, fma(y, kLn2, minus(high)));
    value = select(less(magnitude(y), kInfinity), value, y);
    return value - select(tiny, like(x, 0x1.62e430p+4), 0);
}

namespace {

/// log2 of a positive x, to 2^-33 of itself: x = 2^e m, s = (m - 1) / (m + 1), log m = 2 atanh(s).
Pair log2_pair(UOp x) {
    UOp m = frexp_mant(x), e = frexp_exp(x), small = less(m, 0x1.6a09e6p-1);
    m = select(small, times(m, 2), m);
    e = cast(select(small, e - 1, e), dtypes::float32);
    UOp n = plus(m, -1), d = plus(m, 1), d_low = m - plus(d, -1), r = rcp(d), guess = n * r;
    Pair s = sum(guess, fma(minus(guess), d_low, fma(minus(guess), d, n)) * r);
    // atanh(s) = s (1 + third z + z^2 tail), z = s^2
    constexpr std::span c = polynomials::log_f32;
    constexpr double third = static_cast<float>(c[0]), third_low = c[0] - third;
    Pair z = product(s.high, s.high);
    z.low = fma(times(s.high, 2), s.low, z.low);
    Pair series = product(z.high, like(x, third));
    series.low = fma(z.low, third, fma(z.high, third_low, series.low));
    series.low = fma(z.high * z.high, polynomial(z.high, c.subspan(1)), series.low);
    // times 2 / ln 2, in two floats
    constexpr double unit = 0x1.715476p+1, unit_low = 0x1.4ae0bep-25;
    Pair first = product(s.high, like(x, unit)), second = product(first.high, series.high);
    first.low = fma(s.high, unit_low, fma(s.low, unit, first.low));
    UOp low = fma(first.high, series.low, fma(first.low, series.high, first.low + second.low));
    Pair log = sum(first.high, second.high), whole = sum(e, log.high);
    return sum(whole.high, whole.low + (log.low + low));
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
    value = select(no_root, std::numeric_limits<double>::quiet_NaN(), value);
    value = select(both(less(bitcast(x, bits), 0), is_odd(y)), minus(value), value);
    value = select(either(is_nan(x), is_nan(y)), x + y, value);
    return select(either(equal(x, 1), equal(y, 0)), one, value);
}

}  // namespace

UOp single_power(UOp u, const Target&) {
    UOp x = u.src(0), given = u.src(1);
    UOp y = select(less(magnitude(given), 0x1p33), given,
                   select(less(given, 0), like(given, -0x1p33), like(given, 0x1p33)));
    Pair l = log2_pair(magnitude(x)), p = product(y, l.high);
    UOp low = fma(y, l.low, p.low);
    UOp bounded = select(less(magnitude(p.high), 1000), p.high, select(less(p.high, 0), like(x, -1000), like(x, 1000)));
    low = select(less(magnitude(p.high), 1000), low, 0);
    UOp whole = rint(bounded);
    UOp value = ldexp(exp2_approx(bounded - whole + low), cast(whole, dtypes::int32));
    return power_of(x, given, value);
}

}  // namespace strata::codegen
