// byte_operands: operands of 8-bit floats, on a chip whose matrix instructions multiply none of them.
//
// Before  reduce(cast(a) * cast(b))                      a and b of 8-bit floats
// After   reduce(cast(cast<bfloat16>(a)) * cast(cast<bfloat16>(b)))
// Every 8-bit float is a bfloat16, and no subnormal one. So the instructions of bfloat16 compute the same sum.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/build.h"

namespace strata::codegen {
namespace {

bool is_byte_float(DType type) { return type.is_float() && type.bits() == 8; }

/// The cast that reads a factor's 8-bit floats; empty: the factor has none.
UOp widening_of_bytes(UOp factor) {
    while (info(factor.op()).is(kMovement) || is_widening(factor)) {
        if (factor.is(Op::cast) && is_byte_float(factor.src(0).dtype())) return factor;
        factor = factor.src(0);
    }
    return UOp();
}

/// u with its first source replaced.
UOp with_first(UOp u, UOp first) {
    std::vector<UOp> sources(u.src().begin(), u.src().end());
    sources[0] = first;
    return u.with_src(sources);
}

/// Views of 8-bit floats as the same views of bfloat16: what each element is read for again is converted once.
UOp views_of_bfloat16(UOp u) {
    if (!info(u.op()).is(kMovement)) return cast(u, dtypes::bfloat16);
    std::vector<UOp> sources(u.src().begin(), u.src().end());
    sources[0] = views_of_bfloat16(sources[0]);
    return make(u.op(), dtypes::bfloat16, sources, u.arg());
}

UOp by_bfloat16(UOp factor, UOp widening) {
    if (factor == widening) return with_first(factor, views_of_bfloat16(factor.src(0)));
    return with_first(factor, by_bfloat16(factor.src(0), widening));
}

/// The product below views and casts, with its factors by bfloat16; empty: it has no 8-bit floats, or matrix
/// instructions multiply these.
UOp product_by_bfloat16(UOp u, const CostModel& costs) {
    if (info(u.op()).is(kMovement) || is_widening(u)) {
        const UOp below = product_by_bfloat16(u.src(0), costs);
        return below ? with_first(u, below) : UOp();
    }
    if (!u.is(Op::mul)) return UOp();
    const UOp left = widening_of_bytes(u.src(0)), right = widening_of_bytes(u.src(1));
    if (!left && !right) return UOp();
    if (left && right && left.src(0).dtype() == right.src(0).dtype() && costs.multiplies(left.src(0).dtype()))
        return UOp();
    return u.with_src(
        std::vector{left ? by_bfloat16(u.src(0), left) : u.src(0), right ? by_bfloat16(u.src(1), right) : u.src(1)});
}

/// The same sum of products by bfloat16, where matrix instructions then compute it; otherwise as it is.
UOp sum_by_bfloat16(UOp sum, const CostModel& costs) {
    if (!sum.is(Op::reduce) || sum.as<ReduceArg>().op != Op::add) return sum;
    const UOp below = product_by_bfloat16(sum.src(0), costs);
    if (!below) return sum;
    const UOp next = with_first(sum, below);
    return matrix_product_of(next, costs) ? next : sum;
}

}  // namespace

std::vector<UOp> widen_bytes(std::span<const UOp> roots, const Policy& policy) {
    const std::vector<UOp> order = in_order(roots);
    if (!std::ranges::any_of(order, [](UOp u) { return is_byte_float(u.dtype()); }))
        return {roots.begin(), roots.end()};
    UOpMap<UOp> made;
    return rebuild_all(roots, order, made, [&](UOp u, std::span<const UOp> sources) {
        return sum_by_bfloat16(u.with_src(sources), policy.costs);
    });
}

}  // namespace strata::codegen
