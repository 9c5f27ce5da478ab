// What arrives at what is scanned: running sums, products, maxima and minima.
#include "strata/ops/build_p.h"
#include "strata/ops/gradients_p.h"

namespace strata::ops {
namespace {

Tensor backward_sum(const Tensor& x, int axis) { return x.flip(axis).cumsum(axis).flip(axis); }

/// Behind the first zero of a row nothing changes the products but that zero, up to the next one.
Tensor to_running_product(const Tensor& g, const Tensor& x, int axis) {
    Tensor zero = eq(x, 0), others = where(zero, 1, x);
    Tensor zeros = zero.cast(dtypes::int32).cumsum(axis), changes = g * others.cumprod(axis);
    const auto arrives = [&](int behind) { return backward_sum(where(eq(zeros, behind), changes, 0), axis); };
    return where(zero, where(eq(zeros, 1), arrives(1), 0), arrives(0) / others);
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
    if (arg.op == Op::mul) return to_running_product(g, x, axis);
    return to_running_extreme(g, y, x, axis);
}

}  // namespace strata::ops
