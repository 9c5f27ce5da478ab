// The maximum that a softmax subtracts from its scores, in tensor graphs and in kernels.
#include "strata/codegen/schedule/softmax.h"

#include <cmath>

namespace strata::codegen {

UOp below_repeats(UOp u) {
    while (u.is(Op::expand) || u.is(Op::reshape)) u = u.src(0);
    return u;
}

UOp below_detached(UOp u) {
    while (u.is(Op::detach)) u = u.src(0);
    return u;
}

UOp guarded_maximum(UOp u) {
    if (!u.is(Op::where) || !below_repeats(u.src(2)).is_const()) return UOp();
    const UOp finite = u.src(0), top = below_repeats(u.src(1));
    const bool guards = finite.is(Op::cmplt) && finite.src(0).is(Op::abs) &&
                        below_repeats(finite.src(1)).is_const(HUGE_VAL) && below_repeats(finite.src(0).src(0)) == top;
    return guards ? top : UOp();
}

UOp where_finite(UOp x) {
    return alu(Op::where, {alu(Op::abs, {x}) < constant(x.dtype(), HUGE_VAL), x, constant(x.dtype(), 0)});
}

}  // namespace strata::codegen
