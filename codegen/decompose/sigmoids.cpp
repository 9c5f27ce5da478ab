// tanh and erf: a series near zero, 1 minus what is missing beyond. The normal distribution function: a density times a
// polynomial, which has all its digits in both tails, as the logistic function has.
#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

/// ncdf(x) of what it is at -|x|.
UOp on_both_sides(UOp x, UOp below) { return select(less(x, 0), below, like(x, 1) - below); }

}  // namespace

/// 1 - 2 / (e^2y + 1).
UOp single_tanh(UOp u, const Target&) {
    UOp x = u.src(0), y = magnitude(x), z = x * x;
    UOp near = fma(y * z, polynomial(z, polynomials::tanh_f32), y);
    UOp far = fma(rcp(plus(exp2_approx(times(y, 0x1.715476p+1)), 1)), -2, 1);
    return with_sign_of(select(less(y, 0.625), near, far), x);
}

UOp double_tanh(UOp u, const Target&) {
    UOp x = u.src(0), y = magnitude(x), z = x * x;
    UOp near = fma(y * z, polynomial(z, polynomials::tanh_f64), y);
    UOp far = fma(near_reciprocal(plus(exp_of_wide(times(select(less(20, y), 20, y), 2)), 1)), -2, 1);
    return with_sign_of(select(less(y, 0.625), near, far), x);
}

/// 1 - 2^p(y), where 1 - erf(4) is nothing beside 1.
UOp single_erf(UOp u, const Target&) {
    UOp x = u.src(0), y = magnitude(x), z = x * x;
    UOp near = fma(y, polynomial(z, polynomials::erf_f32), y);
    UOp far = like(x, 1) - exp2_approx(polynomial(select(less(4, y), 4, y), polynomials::erfc_f32));
    return with_sign_of(select(less(y, 1), near, far), x);
}

/// 1 - e^(p(v) - y^2), where 1 - erf(6) is nothing beside 1.
UOp double_erf(UOp u, const Target&) {
    UOp x = u.src(0), y = magnitude(x), z = x * x, near = fma(y, polynomial(z, polynomials::erf_f64), y);
    UOp most = select(less(6, y), 6, y), v = plus(most, -2.75) * near_reciprocal(plus(most, 5));
    UOp far = like(x, 1) - exp_of_wide(fma(minus(most), most, polynomial(v, polynomials::erfc_f64)));
    return with_sign_of(select(less(y, 1), near, far), x);
}

/// 1 / (1 + e^-|x|), times e^-|x| below 0.
UOp single_logistic(UOp u, const Target&) {
    constexpr double kRate = -0x1.715476p+0, kRateLow = -0x1.4ae0bep-26;  // -log2(e)
    UOp x = u.src(0), size = magnitude(x), y = select(less(128, size), 128, size);
    UOp high = times(y, kRate), whole = rint(high), low = fma(y, kRateLow, fma(y, kRate, minus(high)));
    UOp power = ldexp(exp2_approx(high - whole + low), cast(whole, dtypes::int32)), r = rcp(plus(power, 1));
    return select(less(x, 0), power * r, r);
}

UOp double_logistic(UOp u, const Target&) {
    UOp x = u.src(0), power = exp_of_wide(minus(magnitude(x))), r = near_reciprocal(plus(power, 1));
    return select(less(x, 0), power * r, r);
}

/// e^(-y^2 / 2) p(v - 1/4) v, y = |x|, v = 2 / (y + 2). Below -15 it is 0. y^2 is a sum of two: its rounding is an
/// error of the power. So is that of v: p(v - 1/4) v grows about as v^1.35.
UOp single_ncdf(UOp u, const Target&) {
    constexpr double kRate = -0x1.715476p-1, kRateLow = -0x1.4ae0bep-27;  // -log2(e) / 2
    constexpr double kGrowth = 1.9476;                                    // 1.35 log2(e)
    UOp x = u.src(0), size = magnitude(x), y = select(less(15, size), 15, size);
    UOp square = y * y, lost = fma(y, y, minus(square)), high = times(square, kRate), whole = rint(high);
    UOp low = fma(lost, kRate, fma(square, kRateLow, fma(square, kRate, minus(high))));
    UOp d = fma(y, 0.5, 1), v = rcp(d), less_of_d = fma(y, 0.5, like(d, 1) - d);
    low = fma(fma(minus(v), less_of_d, fma(minus(d), v, like(d, 1))), kGrowth, low);
    UOp factor = v * polynomial(plus(v, -0.25), polynomials::ncdf_f32);
    UOp below = ldexp(exp2_approx(high - whole + low) * factor, cast(whole, dtypes::int32));
    return on_both_sides(x, below);
}

/// The same of p(v - 1/2) v, v = 4 / (y + 4), which grows about as v^2; below -39 it is 0.
UOp double_ncdf(UOp u, const Target&) {
    UOp x = u.src(0), size = magnitude(x), y = select(less(39, size), 39, size);
    UOp square = y * y, lost = fma(y, y, minus(square)), power = exp_of_wide(times(square, -0.5));
    UOp d = fma(y, 0.25, 1), v = near_reciprocal(d), factor = v * polynomial(plus(v, -0.5), polynomials::ncdf_f64);
    UOp off = fma(minus(v), fma(y, 0.25, like(d, 1) - d), fma(minus(d), v, like(d, 1)));
    return on_both_sides(x, fma(power, fma(lost, -0.5, times(off, 2)), power) * factor);
}

}  // namespace strata::codegen
