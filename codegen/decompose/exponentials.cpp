// Exponentials and logarithms of float32, from the machine's exp2 and log2. These take denormals for zeros: what
// is near them is scaled before and after.
#include "strata/codegen/decompose/functions_p.h"

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

}  // namespace strata::codegen
