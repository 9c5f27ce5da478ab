#include <algorithm>

#include "strata/codegen/optimize/stage_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {

bool is_walked_within_itself(const Scopes& scopes, UOp range) {
    const Axis axis = range_arg(range).axis;
    if (axis != Axis::loop && axis != Axis::reduce) return false;
    if (std::ranges::count_if(scopes.order(), [&](UOp u) { return closes(u, range); }) < 2) return false;
    const RangeSet own = scopes.bit(range), serial = scopes.with_axis({Axis::loop, Axis::reduce}) & ~own;
    for (UOp between : scopes.order()) {
        if (!closes_ranges(between) || closes(between, range)) continue;
        const RangeSet steps = scopes.closed_by(between) & serial;
        if (!steps || !(scopes.free(between.src(0)) & own)) continue;
        for (UOp inside : toposort(between.src(0)))
            if (closes(inside, range) && scopes.free(inside) & steps) return true;
    }
    return false;
}

}  // namespace strata::codegen
