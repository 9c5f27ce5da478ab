// fmod: digits of the quotient from the top on. The remainder after each is exact: a multiple of the divisor's last
// place that is no larger than the divisor.
#include "strata/codegen/decompose/functions_p.h"

namespace strata::codegen {

UOp float_remainder(UOp u, const Target&) {
    const bool wide = u.dtype() == dtypes::float64;
    // Bits of the quotient a step, and the most that the exponents of two numbers, denormals included, are apart.
    const int bits = wide ? 50 : 21, apart = wide ? 2098 : 277;
    UOp x = u.src(0), y = u.src(1), n = magnitude(x), d = magnitude(y), no = constant_int(dtypes::int32, 0);
    UOp divisor = frexp_mant(d), r = rcp(divisor), rest = frexp_mant(n);
    for (int i = 0; i < (wide ? 2 : 1); ++i) r = nearer_reciprocal(r, divisor);
    UOp left = frexp_exp(n) - frexp_exp(d);
    for (int done = 0; done < apart + bits; done += bits) {
        UOp by = smaller(larger(left, no), constant_int(dtypes::int32, bits));
        UOp shifted = done == 0 ? rest : ldexp(rest, by);
        if (done) left = left - by;
        rest = fma(minus(rint(shifted * r)), divisor, shifted);
    }
    rest = select(less(rest, 0), rest + divisor, magnitude(rest));
    UOp value = ldexp(rest, frexp_exp(d));
    value = select(less(n, d), n, value);
    UOp bad = either(either(equal(d, 0), negation(less(n, kInfinity))), is_nan(d));
    return with_sign_of(select(bad, kNan, value), x);
}

}  // namespace strata::codegen
