// Rows: what is reduced along neighbouring axes and then walked again, together with the results.
//
//   x  (..., n)  ->  reduce over n  ->  elementwise on (..., 1)  ->  expand to (..., n), with x or a function of x
//
// One block has a row in its registers, so that all of it is one kernel. Of rows along other axes than the last, whose
// neighbours in memory are of other rows, a block has some beside each other. Results are followed over reshapes that
// only add or drop axes of one element. Other movement changes their order, and with it ends the row.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

// Rows whose neighbours in memory are of other rows: their length, and how many fill the machine unless they are little
// work.
constexpr int64_t kLongest = 1 << 13, kFewest = 256, kLittle = 1 << 16;
// The same of rows along several axes that are no neighbours, the last of memory among them.
constexpr int64_t kLongestApart = 1 << 14, kFewestApart = 32;

bool fits_a_block(UOp reduction) {
    const std::vector<int>& axes = reduction.as<ReduceArg>().axes;
    const Shape& shape = reduction.src(0).shape();
    const auto is_reduced = [&](int i) { return std::ranges::find(axes, i) != axes.end(); };
    std::vector<int> longer;
    for (int i = 0; i < static_cast<int>(shape.size()); ++i)
        if (shape[static_cast<size_t>(i)] != 1) longer.push_back(i);
    const auto first = std::ranges::find_if(longer, is_reduced),
               end = std::find_if_not(first, longer.end(), is_reduced);
    if (end == longer.end()) return true;
    const int64_t rows = std::max<int64_t>(reduction.numel(), 1), length = reduction.src(0).numel() / rows;
    if (std::any_of(end, longer.end(), is_reduced))
        return is_reduced(longer.back()) &&
               (length * rows <= kLittle || (length <= kLongestApart && rows >= kFewestApart));
    return length * rows <= kLittle || (length <= kLongest && rows >= kFewest);
}

/// The reduction whose results a node has, one a row, found in its sources.
UOp results_in(UOp u, const UOpMap<UOp>& results) {
    if (u.is(Op::reduce)) return fits_a_block(u) ? u : UOp();
    if (!info(u.op()).elementwise() && !keeps_results(u)) return UOp();
    for (UOp s : u.src())
        if (auto found = results.find(s); found != results.end() && s.numel() == u.numel()) return found->second;
    return UOp();
}

}  // namespace

bool same_loops(UOp a, UOp b) {
    return a.src(0).shape() == b.src(0).shape() && a.as<ReduceArg>().axes == b.as<ReduceArg>().axes;
}

Shape without_ones(Shape shape) {
    std::erase(shape, 1);
    return shape;
}

bool keeps_results(UOp u) { return u.is(Op::reshape) && without_ones(u.shape()) == without_ones(u.src(0).shape()); }

bool widens_results(UOp u, UOp reduction) {
    return u.is(Op::expand) && u.numel() > u.src(0).numel() && u.shape() == reduction.src(0).shape() &&
           u.src(0).shape() == reduction.shape() && fits_a_block(reduction);
}

UOpSet leading_to_rows(std::span<const UOp> order, const UOpSet& products) {
    UOpMap<UOp> results;
    UOpSet leading;
    for (UOp u : order)
        if (UOp reduction = products.contains(u) ? UOp() : results_in(u, results)) results[u] = reduction;
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
