#pragma once
#include "strata/ops/convolution.h"

namespace strata::ops {

/// A convolution as its gradients take it: one number an axis everywhere.
struct Steps {
    Shape window, stride, padding, dilation;
    int64_t groups = 1;
};

/// The part of a shape after its first `axes` axes.
Shape trailing(const Shape& shape, size_t axes);
Shape joined(Shape a, const Shape& b);
/// x under windows over its last axes, as windows gives it, by operations alone: gradients go by them.
Tensor viewed(const Tensor& x, const Shape& window, const Shape& stride, const Shape& dilation);
/// The same over the axes from `axis` on; what lies under the windows comes last.
Tensor viewed_from(const Tensor& x, size_t axis, const Shape& window, const Shape& stride, const Shape& dilation);
/// viewed, whose gradient is one sum an element over the windows that hold it.
Tensor under_windows(const Tensor& x, const Shape& window, const Shape& stride, const Shape& dilation);
/// With `padding` elements of `value` around the last axes.
Tensor padded(const Tensor& x, const Shape& padding, Number value);

/// The three maps of one convolution, each linear in both of its tensors. The gradients of each by these are the other
/// two, so that derivatives of any order are made of these:
/// places (n, out, places) of x (n, in, sizes) and weights (out, in / groups, window);
Tensor convolved(const Tensor& x, const Tensor& weight, const Steps& steps);
/// x (n, in, sizes) of places and weights;
Tensor spread_back(const Tensor& places, const Tensor& weight, const Steps& steps, const Shape& sizes);
/// weights of x and places.
Tensor correlated(const Tensor& x, const Tensor& places, const Steps& steps);

}  // namespace strata::ops
