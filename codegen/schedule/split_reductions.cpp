// split_reductions: one large reduction -> two.
//
// Before  reduce(x, axes) over n elements a result, few results
// After   reduce(contiguous(reduce(reshape(x to (..., k, m, ...)), k)), m): m partial results a result. The m axis is
//         the fastest one in memory, so neighbouring threads of the first stage read neighbouring elements.
// Runs before plan_storage because the partial results need memory of their own.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSplitFrom = 1 << 15;   // elements a result below which one block does it well
constexpr int64_t kFewResults = 1 << 10;  // with more results than this the first stage fills the machine unsplit
constexpr int64_t kPartials = 1 << 14;    // partial results to aim at over all results
constexpr int64_t kLeastSerial = 16;      // elements a partial result, at least

/// The divisor of n nearest to, and not above, `wish`; 0 when the best is below 64.
int64_t divisor_near(int64_t n, int64_t wish) {
    for (int64_t m = wish; m >= 64; --m)
        if (n % m == 0) return m;
    return 0;
}

UOp reshaped(UOp x, Shape shape) { return make(Op::reshape, x.dtype(), {x}, ShapeArg{std::move(shape)}); }

UOp reduced(UOp x, Op op, int axis) { return make(Op::reduce, x.dtype(), {x}, ReduceArg{op, {axis}}); }

/// Columns added to the rows so that m divides their length; they hold what leaves the reduction as it is.
UOp padded(UOp rows, int64_t m, Op op) {
    int64_t results = rows.shape()[0], n = rows.shape()[1], wide = (n + m - 1) / m * m;
    UOp x = make(Op::pad, rows.dtype(), {rows}, BoundsArg{{{0, 0}, {0, wide - n}}});
    if (op == Op::add) return x;
    UOp column = reshaped(make(Op::iota, dtypes::int64, {}, ShapeArg{{wide}}), {1, wide});
    if (results > 1) column = make(Op::expand, column.dtype(), {column}, ShapeArg{{results, wide}});
    return alu(Op::where, {column < n, x, identity(op, x.dtype())});
}

/// The kept axes first, then all reduced elements as one axis.
UOp as_rows(UOp x, const std::vector<int>& axes, int64_t results) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(x.shape().size()); ++i)
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    order.insert(order.end(), axes.begin(), axes.end());
    if (!std::is_sorted(order.begin(), order.end())) x = make(Op::permute, x.dtype(), {x}, AxesArg{order});
    return reshaped(x, {results, x.numel() / results});
}

UOp split(UOp u) {
    const ReduceArg& arg = u.as<ReduceArg>();
    int64_t results = u.numel();
    if (results == 0 || results > kFewResults) return u;
    int64_t n = u.src(0).numel() / results;
    if (n < kSplitFrom) return u;
    UOp rows = as_rows(u.src(0), arg.axes, results);
    int64_t wish = std::min(std::max<int64_t>(256, kPartials / results), n / kLeastSerial / 256 * 256);
    int64_t m = divisor_near(n, wish);
    if (m < wish / 4) {
        m = wish;
        rows = padded(rows, m, arg.op);
        n = rows.shape()[1];
    }
    UOp partial = reduced(reshaped(rows, {results, n / m, m}), arg.op, 1);
    UOp total = reduced(make(Op::contiguous, partial.dtype(), {partial}), arg.op, 2);
    return reshaped(total, u.shape());
}

}  // namespace

UOp split_reductions(UOp root) {
    return rebuild(root, [](UOp u, std::span<const UOp> sources) {
        UOp next = u.with_src(sources);
        return u.is(Op::reduce) ? split(next) : next;
    });
}

}  // namespace strata::codegen
