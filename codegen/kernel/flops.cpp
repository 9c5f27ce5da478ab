#include "strata/codegen/kernel/flops.h"

#include <algorithm>

#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/target.h"
#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {
namespace {

/// Operations of one lane: each element of its part of the result is a sum of k products.
double flops_of_product(UOp wmma) {
    if (is_ldmatrix(wmma)) return 0;
    const MatrixShape* const shape = find_shape(matrix_shapes(), wmma.as<MatrixArg>().name);
    STRATA_CHECK(shape, "no matrix instruction is called {}", wmma.as<MatrixArg>().name);
    if (!shape->accumulator.is_float()) return 0;
    const std::optional<WarpgroupProduct> group = warpgroup_product(wmma);
    const double steps = group ? static_cast<double>(group->steps) : 1;
    return 2.0 * shape->k * steps * shape->accumulator_elements();
}

/// Each time that the node is computed. A matrix instruction adds up what it multiplies.
double flops_of(UOp u) {
    if (u.is(Op::wmma)) return flops_of_product(u);
    if (!u.dtype().is_float() || u.is(Op::cast) || u.is(Op::bitcast) || u.is(Op::where)) return 0;
    if (u.is(Op::detach) || u.is(Op::recompute) || u.is(Op::freeze)) return 0;
    const bool sums = (u.is(Op::reduce) || u.is(Op::scan)) && !u.src(0).is(Op::wmma);
    if (!sums && !info(u.op()).elementwise()) return 0;
    return (u.is(Op::fma) ? 2.0 : 1.0) * u.dtype().lanes;
}

}  // namespace

uint64_t count_flops(UOp sink) {
    UOpMap<std::vector<UOp>> open;  // ranges a node is computed for
    double total = 0;
    for (UOp u : toposort(sink)) {
        std::vector<UOp> all;
        if (u.is(Op::range)) all.push_back(u);
        for (UOp s : u.src())
            for (UOp r : open[s])
                if (std::ranges::find(all, r) == all.end()) all.push_back(r);
        std::vector<UOp> mine;
        std::ranges::copy_if(all, std::back_inserter(mine), [&](UOp r) { return !closes(u, r); });
        double times = flops_of(u);
        for (UOp r : u.is(Op::reduce) ? all : mine) times *= static_cast<double>(range_arg(r).size);
        total += times;
        open[u] = std::move(mine);
    }
    return static_cast<uint64_t>(total);
}

uint64_t count_unrolled(UOp sink) {
    uint64_t count = toposort(sink).size();
    for (UOp r : ranges(sink))
        if (const RangeArg& arg = range_arg(r); arg.axis == Axis::upcast || arg.axis == Axis::unroll)
            count *= static_cast<uint64_t>(arg.size);
    return count;
}

}  // namespace strata::codegen
