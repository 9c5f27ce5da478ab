// tanh and erf: a series near zero, 1 minus what is missing beyond.
#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
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

}  // namespace strata::codegen
