// Rows: what is reduced along some of its last axes and then walked again, together with the results.
//
//   x  (..., n)  ->  reduce over n  ->  elementwise on (..., 1)  ->  expand to (..., n), with x or what is made of x
//
// One block has a row in its registers, so that all of it is one kernel. Results are followed over reshapes that only add or
// drop axes of one element; what else moves them leaves their order, and with it the row.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

Shape without_ones(Shape shape) {
    std::erase(shape, 1);
    return shape;
}

bool are_last(UOp reduction) {
    const std::vector<int>& axes = reduction.as<ReduceArg>().axes;
    const Shape& shape = reduction.src(0).shape();
    const int first = *std::ranges::min_element(axes);
    for (int i = first; i < static_cast<int>(shape.size()); ++i)
        if (shape[static_cast<size_t>(i)] != 1 && std::ranges::find(axes, i) == axes.end()) return false;
    return true;
}

/// The reduction whose results a node has, one a row, found in its sources.
UOp results_in(UOp u, const UOpMap<UOp>& results) {
    if (u.is(Op::reduce)) return are_last(u) ? u : UOp();
    if (!info(u.op()).elementwise() && !keeps_results(u)) return UOp();
    for (UOp s : u.src())
        if (auto found = results.find(s); found != results.end() && s.numel() == u.numel()) return found->second;
    return UOp();
}

}  // namespace

bool keeps_results(UOp u) { return u.is(Op::reshape) && without_ones(u.shape()) == without_ones(u.src(0).shape()); }

bool widens_results(UOp u, UOp reduction) {
    return u.is(Op::expand) && u.numel() > u.src(0).numel() && u.shape() == reduction.src(0).shape() &&
           u.src(0).shape() == reduction.shape() && are_last(reduction);
}

std::unordered_set<UOp, UOpHash> leading_to_rows(std::span<const UOp> order) {
    UOpMap<UOp> results;
    std::unordered_set<UOp, UOpHash> leading;
    for (UOp u : order)
        if (UOp reduction = results_in(u, results)) results[u] = reduction;
    for (auto u = order.rbegin(); u != order.rend(); ++u)
        for (UOp s : u->src()) {
            auto found = results.find(s);
            if (found == results.end()) continue;
            const bool passes_on = leading.contains(*u) && results.contains(*u) && !u->is(Op::reduce);
            if (passes_on || widens_results(*u, found->second)) leading.insert(s);
        }
    return leading;
}

}  // namespace strata::codegen
