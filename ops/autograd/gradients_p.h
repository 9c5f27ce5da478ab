#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// A product with 1, as the gradient of a sum by its terms is, is the factor itself: no kernel computes it.
Tensor times(const Tensor& g, const Tensor& x);
/// Each place of x gets the sum of what arrived where it was taken, always in the same order.
Tensor to_taken(const Tensor& g, const Tensor& x, const Tensor& indices, int axis);
/// The gradient of the factors x of a product over axes, by the product's gradient g, which is given in x's shape.
Tensor to_factors(const Tensor& g, const Tensor& x, const std::vector<int>& axes);
/// The gradient of x by that of y, its largest or smallest elements along axes. Equal ones share it.
Tensor to_extreme(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg);
/// The same of running extremes: the last of equal elements gets it, as in PyTorch.
Tensor to_running_extreme(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg);
/// Sums over the axes along which what has this shape was repeated.
Tensor folded_to(const Tensor& g, const Shape& shape);
/// The gradient of x by that of y, its running sums, products or extremes.
Tensor to_scanned(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg);

}  // namespace strata::ops
