// What arrives at what is scanned: running sums, products, maxima and minima.
#include "strata/ops/build_p.h"
#include "strata/ops/gradients_p.h"

namespace strata::ops {
namespace {

Tensor backward_sum(const Tensor& x, int axis) { return x.flip(axis).cumsum(axis).flip(axis); }

/// Behind the first zero of a row nothing changes the products but that zero, up to the next one.
Tensor to_running_product(const Tensor& g, const Tensor& y, const Tensor& x, int axis) {
    Tensor zero = eq(x, 0), others = where(zero, 1, x);
    Tensor one_behind = eq(zero.cast(dtypes::int32).cumsum(axis), 1);
    Tensor at_first = backward_sum(where(one_behind, g * others.cumprod(axis), 0), axis);
    return where(bitwise_and(zero, one_behind), at_first, backward_sum(g * y, axis) / others);
}

/// It goes to the last of the elements so far that are the extreme one, as in PyTorch.
Tensor to_running_extreme(const Tensor& g, const Tensor& y, const Tensor& x, int axis) {
    Tensor place = expand_to(iota_along(x.shape(), axis), x.shape());
    Tensor chosen = bitwise_or(eq(x, y), x.isnan());
    return like(g, 0).scatter_add(axis, where(chosen, place, 0).cummax(axis), g);
}

}  // namespace

Tensor to_scanned(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg) {
    const int axis = arg.axes[0];
    if (arg.op == Op::add) return backward_sum(g, axis);
    if (arg.op == Op::mul) return to_running_product(g, y, x, axis);
    return to_running_extreme(g, y, x, axis);
}

}  // namespace strata::ops
