#include "strata/codegen/kernel/masked_steps.h"

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

bool is_known_to_blocks(UOp u) {
    return u.is_const() || u.is(Op::define_var) || u.is(Op::range) ||
           (u.dtype().scalar == Scalar::index && info(u.op()).elementwise());
}

/// The greatest value in a block; empty where it is not linear in what tells threads and steps apart.
UOp greatest(UOp value) {
    for (UOp u : toposort(value)) {
        if (!is_known_to_blocks(u)) return {};
        if (!u.is(Op::range) || range_arg(u).axis == Axis::global) continue;
        const UOp by = slope(value, u);
        if (!by) return {};
        value = substitute(value, {{u, index_const(const_int(by) > 0 ? range_arg(u).size - 1 : 0)}});
    }
    return simplify(value);
}

}  // namespace

UOp slope(UOp value, UOp range) {
    const UOp step = simplify(substitute(value, {{range, range + 1}}) - value);
    return step.is_const() ? step : UOp();
}

UOp steps_while(UOp condition, bool wanted, UOp range) {
    if (condition.is(Op::bit_and) && wanted) {
        const UOp left = steps_while(condition.src(0), wanted, range);
        return left ? left : steps_while(condition.src(1), wanted, range);
    }
    if (!condition.is(Op::cmplt) || condition.src(0).dtype() != dtypes::index) return {};
    // Wanted as long as there is room.
    const UOp left = condition.src(0), right = condition.src(1), room = wanted ? right - left : left + 1 - right;
    const UOp by = slope(room, range);
    if (!by || const_int(by) >= 0) return {};
    const UOp first = greatest(substitute(room, {{range, index_const(0)}}));
    if (!first) return {};
    const int64_t used = -const_int(by);
    return simplify((first + (used - 1)) / used);
}

}  // namespace strata::codegen
