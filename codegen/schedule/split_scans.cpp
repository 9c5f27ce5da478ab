// split_scans: few long scans -> scans of their blocks.
//
// Before  scan(x, axis) along n elements, few others
// After   y = reshape(x to (..., m, k, ...));  scan(y, k) + expand(scan(reduce(y, k) of the block before, m))
// so that the machine is filled: x is read twice and the result written once. A block of threads goes along k elements.
// Runs before plan_storage because the totals of the blocks need memory of their own.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSplitFrom = 1 << 15;               // elements that one block of threads scans well
constexpr int64_t kManyScans = 1 << 10;               // scans that fill the machine
constexpr int64_t kBlocks = 1 << 10;                  // to aim at over all scans
constexpr int64_t kLeast = 1 << 10, kMost = 1 << 14;  // elements of a block

UOp reshaped(UOp x, Shape shape) { return make(Op::reshape, x.dtype(), {x}, ShapeArg{std::move(shape)}); }

/// Zeros before and after along an axis.
UOp padded(UOp x, size_t axis, int64_t before, int64_t after) {
    BoundsArg room{std::vector<std::pair<int64_t, int64_t>>(x.shape().size(), {0, 0})};
    room.bounds[axis] = {before, after};
    return make(Op::pad, x.dtype(), {x}, room);
}

/// The first n elements along an axis.
UOp cut(UOp x, size_t axis, int64_t n) {
    BoundsArg kept;
    for (int64_t size : x.shape()) kept.bounds.emplace_back(0, size);
    kept.bounds[axis].second = n;
    return make(Op::shrink, x.dtype(), {x}, kept);
}

/// Each element where its neighbour before it was, the identity in the first place.
UOp shifted(UOp x, size_t axis, Op op) {
    const int64_t n = x.shape()[axis];
    x = cut(padded(x, axis, 1, 0), axis, n);
    if (op == Op::add) return x;
    Shape ones(x.shape().size(), 1);
    ones[axis] = n;
    const UOp place = reshaped(make(Op::iota, dtypes::int64, {}, ShapeArg{{n}}), ones);
    const UOp first = make(Op::expand, place.dtype(), {place}, ShapeArg{x.shape()}) < 1;
    return alu(Op::where, {first, identity(op, x.dtype()), x});
}

/// The largest divisor of n from a quarter of `wish` to it; `wish` where there is none.
int64_t block_of(int64_t n, int64_t wish) {
    for (int64_t k = wish; k >= wish / 4; --k)
        if (n % k == 0) return k;
    return wish;
}

UOp split(UOp u) {
    const ReduceArg& arg = u.as<ReduceArg>();
    const size_t axis = static_cast<size_t>(arg.axes[0]);
    const int64_t n = u.shape()[axis], scans = u.numel() / n;
    if (n < kSplitFrom || scans >= kManyScans) return u;
    const int64_t k = block_of(n, std::clamp(n / std::max<int64_t>(kBlocks / scans, 1), kLeast, kMost));
    const int64_t blocks = (n + k - 1) / k;
    UOp x = u.src(0);
    if (blocks * k > n) x = padded(x, axis, 0, blocks * k - n);  // after all that the totals before a block hold
    Shape shape = x.shape();
    const Shape flat = shape;
    shape[axis] = k;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), blocks);
    const UOp y = reshaped(x, shape);
    const UOp inside = make(Op::scan, u.dtype(), {y}, ReduceArg{arg.op, {arg.axes[0] + 1}});
    const UOp totals = make(Op::reduce, u.dtype(), {y}, ReduceArg{arg.op, {arg.axes[0] + 1}});
    const UOp before = shifted(make(Op::contiguous, u.dtype(), {totals}), axis, arg.op);
    UOp sum = split(make(Op::scan, u.dtype(), {before}, ReduceArg{arg.op, arg.axes}));
    sum = make(Op::expand, u.dtype(), {make(Op::contiguous, u.dtype(), {sum})}, ShapeArg{shape});
    UOp result = reshaped(alu(arg.op, {sum, inside}), flat);
    return blocks * k > n ? cut(result, axis, n) : result;
}

}  // namespace

std::vector<UOp> split_scans(std::span<const UOp> roots) {
    if (std::ranges::none_of(in_order(roots), [](UOp u) { return u.is(Op::scan); }))
        return {roots.begin(), roots.end()};
    return rebuild_all(roots, [](UOp u, std::span<const UOp> sources) {
        const UOp next = u.with_src(sources);
        return u.is(Op::scan) ? split(next) : next;
    });
}

}  // namespace strata::codegen
