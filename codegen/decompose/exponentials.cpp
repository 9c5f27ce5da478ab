// Exponentials and logarithms of float32, from the machine's exp2 and log2. These take denormals for zeros: what
// is near them is scaled before and after.
#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

// log2(e) and ln(2) in two floats.
constexpr double kLog2E = 0x1.715476p+0, kLog2ELow = 0x1.4ae0bep-26, kLn2 = 0x1.62e42ep-1, kLn2Low = 0x1.efa39ep-25;

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

/// x = n ln 2 + r: 2^n (e^r - 1) + 2^n - 1, at half its size so that 2^n does not overflow before it does.
UOp exp_less_1(UOp u, const Target&) {
    UOp x = u.src(0);
    const bool wide = x.dtype() == dtypes::float64;
    const double most = wide ? 709.79 : 88.73, least = wide ? -40 : -20;  // infinity and -1 from there on
    const double high = wide ? 0x1.62e42fefa39efp-1 : kLn2, low = wide ? 0x1.abc9e3b39803fp-56 : kLn2Low;
    UOp at = select(less(most, x), most, select(less(x, least), least, x));
    UOp n = rint(times(at, wide ? 0x1.71547652b82fep+0 : kLog2E)), r = fma(n, -low, fma(n, -high, at));
    UOp series = wide ? polynomial(r, polynomials::exp_f64) : polynomial(r, polynomials::exp_f32);
    UOp near = fma(r * r, series, r), half = ldexp(like(x, 0.5), cast(n, dtypes::int32));
    UOp far = times(fma(near, half, plus(half, -0.5)), 2);
    return with_sign_of(select(equal(n, 0), near, far), x);
}

/// log(v) of v = x + 1, and what v has lost of x. From 1 on that is below half a unit of the result's last place.
UOp log_of_1_and(UOp u, const Target&) {
    UOp x = u.src(0), v = plus(x, 1), lost = x - plus(v, -1);
    UOp value = alu(Op::log, {v}) + select(less(magnitude(x), 1), lost, 0);
    return select(equal(v, 1), x, value);
}

}  // namespace strata::codegen
