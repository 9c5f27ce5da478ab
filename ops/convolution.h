#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

// Windows that slide over the last axes. Sizes for each of these axes are one number for all or one an axis. A Usage
// error names the number that does not fit, a Shape error the shapes that do not.

/// x (..., sizes) -> (..., places, window): what lies under a window of that many elements, `dilation` apart, at each
/// place, `stride` apart. A view: no element is copied.
Tensor windows(const Tensor& x, const Shape& window, const Shape& stride = {1}, const Shape& dilation = {1});

struct Sliding {
    Shape stride = {1}, padding = {0}, dilation = {1};
};

/// Cross-correlation: x (n, in, sizes), weight (out, in / groups, window) -> (n, out, places); with zeros around x.
/// bias (out,). Sums are formed as matmul's.
Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {}, const Sliding& sliding = {},
            int64_t groups = 1);

/// The gradient of x of a conv with weights of these shapes. x (n, in, sizes), weight (in, out / groups, window) -> (n,
/// out, (sizes - 1) * stride + dilation * (window - 1) + 1 - 2 * padding + output_padding).
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
                      const Sliding& sliding = {}, const Shape& output_padding = {0}, int64_t groups = 1);

/// The largest, or the mean, under each place of a window over the last axes, as many as the window has. stride: the
/// window's by default. The mean counts padding as zeros unless `count_padding` is false.
Tensor max_pool(const Tensor& x, const Shape& window, const std::optional<Shape>& stride = {},
                const Shape& padding = {0}, const Shape& dilation = {1});
Tensor avg_pool(const Tensor& x, const Shape& window, const std::optional<Shape>& stride = {},
                const Shape& padding = {0}, bool count_padding = true);

}  // namespace strata::ops
