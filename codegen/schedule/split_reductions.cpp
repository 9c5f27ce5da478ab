// split_reductions: one large reduction -> two.
//
// Before  reduce(x, axes) over n elements a result, few results
// After   reduce(contiguous(reduce(reshape(x to (..., m, k, ...)), k)), m): m partial results a result, each of k elements that
//         follow one another, which a block shares. Of columns it is reshaped to (..., k, m, ...), so that neighbouring
//         threads of the first stage read neighbouring elements.
// Runs before plan_storage because the partial results need memory of their own.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "strata/codegen/schedule/online.h"
#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSplitFrom = 1 << 15;   // elements a result below which one block does it well
constexpr int64_t kFewResults = 1 << 10;  // with more results than this the first stage fills the machine unsplit
constexpr int64_t kBlocks = 1 << 9;       // partial results to aim at over all results, where a block shares each,
constexpr int64_t kLeastShared = 1 << 10, kMostShared = 1 << 15;  // of so many elements
constexpr int64_t kPartials = 1 << 14;                            // the same where a thread has each
constexpr int64_t kLeastSerial = 16;                              // elements a partial result, at least

/// The divisor of n nearest to, and not above, `wish` that is a multiple of `step`; 0 when there is none.
int64_t divisor_near(int64_t n, int64_t wish, int64_t step) {
    for (int64_t m = wish / step * step; m >= step; m -= step)
        if (n % m == 0) return m;
    return 0;
}

/// Elements of a partial result that a block shares: a power of two where that divides them, else whole steps of all its threads,
/// wide loads each, and twice as many blocks, since some of them have less to do.
int64_t shared_by_block(int64_t n, int64_t results) {
    const int64_t each = n * results / kBlocks;
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(each)));
    const int64_t even = std::clamp(power, kLeastShared, kMostShared);
    if (n % even == 0) return even;
    return std::clamp(each / 2 / kLeastShared * kLeastShared, kLeastShared, kMostShared / 2);
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

/// The kept axes, then the reduced ones.
std::vector<int> kept_first(UOp x, const std::vector<int>& axes) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(x.shape().size()); ++i)
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    order.insert(order.end(), axes.begin(), axes.end());
    return order;
}

/// Rows of so many columns, or of about as many steps where that does not divide them.
UOp divided(UOp rows, int64_t& columns, int64_t step, Op op) {
    const int64_t n = rows.shape()[1], divisor = divisor_near(n, columns, step);
    if (divisor < columns / 4) return padded(rows, columns, op);
    columns = divisor;
    return rows;
}

UOp split(UOp u) {
    const ReduceArg& arg = u.as<ReduceArg>();
    int64_t results = u.numel();
    if (results == 0 || results > kFewResults) return u;
    int64_t n = u.src(0).numel() / results;
    if (n < kSplitFrom) return u;
    UOp x = u.src(0);
    const std::vector<int> order = kept_first(x, arg.axes);
    const bool in_order = std::is_sorted(order.begin(), order.end());
    if (!in_order) x = make(Op::permute, x.dtype(), {x}, AxesArg{order});
    const int64_t step = in_order ? kLeastShared : 1;
    int64_t wish = in_order ? shared_by_block(n, results)
                            : std::min(std::max<int64_t>(256, kPartials / results), n / kLeastSerial / 256 * 256);
    const UOp rows = divided(reshaped(x, {results, n}), wish, step, arg.op);
    const int reduced_first = in_order ? 2 : 1;
    UOp partial = reduced(reshaped(rows, {results, rows.shape()[1] / wish, wish}), arg.op, reduced_first);
    UOp total = reduced(make(Op::contiguous, partial.dtype(), {partial}), arg.op, 3 - reduced_first);
    return reshaped(total, u.shape());
}

/// The sums and products that one kernel computes with what weights them.
std::unordered_set<UOp, UOpHash> of_online_sums(std::span<const UOp> order, Fusion fusion) {
    std::unordered_set<UOp, UOpHash> found;
    for (const OnlineSum& online : online_sums(order))
        if (!is_slower_together(online, fusion)) found.insert(online.sum), found.insert(online.product);
    return found;
}

}  // namespace

std::vector<UOp> split_reductions(std::span<const UOp> roots, Fusion fusion) {
    if (roots.empty()) return {};
    const std::vector<UOp> order = in_order(roots);
    const std::unordered_set<UOp, UOpHash> online = of_online_sums(order, fusion);
    UOpMap<UOp> rebuilt;
    (void)rebuild(order, rebuilt, [&](UOp u, std::span<const UOp> sources) {
        UOp next = u.with_src(sources);
        if (!u.is(Op::reduce)) return next;
        if (!is_tiled_product(u)) return split(next);
        return online.contains(u) ? next : split_product(next, fusion);
    });
    std::vector<UOp> split;
    for (UOp root : roots) split.push_back(rebuilt.at(root));
    return split;
}

}  // namespace strata::codegen
