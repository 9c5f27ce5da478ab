#include "strata/ops/convolution.h"

#include <limits>

#include "strata/ops/build_p.h"
#include "strata/ops/convolution_p.h"

namespace strata::ops {
namespace {

/// One number an axis, none below `least`.
Shape for_each(std::string_view name, std::string_view what, Shape given, size_t axes, int64_t least) {
    if (given.size() == 1) given.assign(axes, given[0]);
    if (given.size() != axes)
        user_error(ErrorKind::Usage, "[{}] {} {} for {} axes: one number for all, or one an axis", name, what,
                   to_string(given), axes);
    for (int64_t n : given)
        if (n < least) user_error(ErrorKind::Usage, "[{}] {} {}: at least {}", name, what, to_string(given), least);
    return given;
}

/// The first `places` elements of an axis that are `stride` apart.
Tensor every(const Tensor& x, size_t axis, int64_t places, int64_t stride) {
    const int at = static_cast<int>(axis);
    Pairs kept;
    for (int64_t n : x.shape()) kept.emplace_back(0, n);
    kept[axis].second = std::min(x.shape()[axis], places * stride);
    Tensor t = x.shrink(kept);
    if (stride == 1) return t;
    Pairs zeros(x.shape().size(), {0, 0});
    zeros[axis].second = places * stride - t.shape()[axis];
    t = t.pad(zeros).unflatten(at, {places, stride});
    Pairs first;
    for (int64_t n : t.shape()) first.emplace_back(0, n);
    first[axis + 1].second = 1;
    return t.shrink(first).squeeze(at + 1);
}

/// One axis of x as places and what lies under a window at each, last.
///
/// The axis is repeated, and read in rows that are longer than the axis by the dilation. Element j of the window lies
/// in row j, where it stands at place 0.
Tensor windows_along(const Tensor& x, size_t axis, int64_t window, int64_t stride, int64_t dilation) {
    const int64_t size = x.shape()[axis], reach = dilation * (window - 1) + 1;
    if (reach > size)
        user_error(ErrorKind::Shape, "[windows] {} elements {} apart do not fit axis {} of shape {}", window, dilation,
                   axis, to_string(x.shape()));
    const int64_t places = (size - reach) / stride + 1;
    if (window == 1) return every(x, axis, places, stride).unsqueeze(-1);
    const int64_t wide = (places * stride + size - 1) / size * size;  // the last stride may go beyond the axis
    const int64_t row = wide + dilation, repeats = (window * row + size - 1) / size;
    Shape before(x.shape().begin(), x.shape().begin() + static_cast<ptrdiff_t>(axis)),
        after = trailing(x.shape(), axis + 1);
    const auto shaped = [&](const Shape& middle) { return joined(joined(before, middle), after); };
    const auto first = [&](const Tensor& t, const Shape& counts) {  // of the axes in the middle
        Pairs pairs;
        for (size_t i = 0; i < t.shape().size(); ++i) {
            const bool inside = i >= axis && i < axis + counts.size();
            pairs.emplace_back(0, inside ? counts[i - axis] : t.shape()[i]);
        }
        return t.shrink(pairs);
    };
    Tensor t = x.reshape(shaped({1, size})).expand(shaped({repeats, size})).reshape(shaped({repeats * size}));
    t = first(t, {window * row}).reshape(shaped({window, row}));
    t = first(t, {window, places * stride}).reshape(shaped({window, places, stride}));
    t = first(t, {window, places, 1}).reshape(shaped({window, places}));
    return t.movedim(static_cast<int>(axis), -1);
}

/// The sums of products of x and weight, and the bias: rounded once.
template <typename Sums>
Tensor with_bias(std::string_view name, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                 const Sums& sums) {
    if (!bias) return sums(x, weight);
    Tensor y = sums(widened(x, false), widened(weight, false));
    if (bias->shape() != Shape{y.shape()[1]})
        user_error(ErrorKind::Shape, "[{}] bias has shape {}, it must be ({},)", name, to_string(bias->shape()),
                   y.shape()[1]);
    Shape along(y.shape().size() - 1, 1);
    along[0] = y.shape()[1];
    return y.add(bias->reshape(along)).cast(common_type({x, weight, *bias}));
}

void check_groups(std::string_view name, const Tensor& x, const Tensor& weight, size_t channels_axis, int64_t groups) {
    if (x.ndim() < 3 || x.ndim() != weight.ndim())
        user_error(ErrorKind::Shape, "[{}] shapes {} and {}: x is (n, in, sizes), weight has as many axes", name,
                   to_string(x.shape()), to_string(weight.shape()));
    const int64_t in = channels_axis == 1 ? weight.shape()[1] * groups : weight.shape()[0];
    const int64_t divided = channels_axis == 1 ? weight.shape()[0] : x.shape()[1];
    if (groups < 1 || x.shape()[1] != in || divided % groups)
        user_error(ErrorKind::Shape, "[{}] shapes {} and {} with {} groups: the channels do not fit", name,
                   to_string(x.shape()), to_string(weight.shape()), groups);
}

void check_window(std::string_view name, const Tensor& x, const Shape& window) {
    if (window.empty() || window.size() > x.shape().size())
        user_error(ErrorKind::Shape, "[{}] a window {} over shape {}: a number for each of the last axes", name,
                   to_string(window), to_string(x.shape()));
}

}  // namespace

Shape trailing(const Shape& shape, size_t axes) { return {shape.begin() + static_cast<ptrdiff_t>(axes), shape.end()}; }
Shape joined(Shape a, const Shape& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Tensor padded(const Tensor& x, const Shape& padding, Number value) {
    Pairs pairs(x.shape().size() - padding.size(), {0, 0});
    for (int64_t n : padding) pairs.emplace_back(n, n);
    return x.pad(pairs, value);
}

Tensor viewed(const Tensor& x, const Shape& window, const Shape& stride, const Shape& dilation) {
    return viewed_from(x, x.shape().size() - window.size(), window, stride, dilation);
}

Tensor viewed_from(const Tensor& x, size_t axis, const Shape& window, const Shape& stride, const Shape& dilation) {
    Tensor out = x;
    for (size_t i = 0; i < window.size(); ++i) out = windows_along(out, axis + i, window[i], stride[i], dilation[i]);
    return out;
}

Tensor windows(const Tensor& x, const Shape& window, const Shape& stride, const Shape& dilation) {
    const size_t axes = window.size();
    if (axes == 0 || axes > x.shape().size())
        user_error(ErrorKind::Shape, "[windows] a window of {} axes over shape {}", axes, to_string(x.shape()));
    const Shape sizes = for_each("windows", "window", window, axes, 1),
                steps = for_each("windows", "stride", stride, axes, 1),
                apart = for_each("windows", "dilation", dilation, axes, 1);
    return under_windows(x, sizes, steps, apart);
}

Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Sliding& sliding,
            int64_t groups) {
    check_groups("conv", x, weight, 1, groups);
    const Shape window = trailing(weight.shape(), 2);
    const size_t axes = window.size();
    const Steps steps{window, for_each("conv", "stride", sliding.stride, axes, 1),
                      for_each("conv", "padding", sliding.padding, axes, 0),
                      for_each("conv", "dilation", sliding.dilation, axes, 1), groups};
    return with_bias("conv", x, weight, bias, [&](const Tensor& a, const Tensor& b) { return convolved(a, b, steps); });
}

Tensor conv_transpose(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Sliding& sliding,
                      const Shape& output_padding, int64_t groups) {
    check_groups("conv_transpose", x, weight, 0, groups);
    const Shape window = trailing(weight.shape(), 2);
    const size_t axes = window.size();
    const Steps steps{window, for_each("conv_transpose", "stride", sliding.stride, axes, 1),
                      for_each("conv_transpose", "padding", sliding.padding, axes, 0),
                      for_each("conv_transpose", "dilation", sliding.dilation, axes, 1), groups};
    const Shape beyond = for_each("conv_transpose", "output_padding", output_padding, axes, 0);
    Shape sizes;
    for (size_t i = 0; i < axes; ++i) {
        const int64_t reach = steps.dilation[i] * (window[i] - 1);
        if (steps.padding[i] > reach || beyond[i] >= steps.stride[i])
            user_error(ErrorKind::Usage,
                       "[conv_transpose] padding {} of at most {}, output_padding {} below the stride {}",
                       steps.padding[i], reach, beyond[i], steps.stride[i]);
        sizes.push_back((x.shape()[i + 2] - 1) * steps.stride[i] + reach + 1 - 2 * steps.padding[i] + beyond[i]);
    }
    return with_bias("conv_transpose", x, weight, bias,
                     [&](const Tensor& a, const Tensor& b) { return spread_back(a, b, steps, sizes); });
}

Tensor max_pool(const Tensor& x, const Shape& window, const std::optional<Shape>& stride, const Shape& padding,
                const Shape& dilation) {
    check_window("max_pool", x, window);
    const Shape around = for_each("max_pool", "padding", padding, window.size(), 0);
    for (size_t i = 0; i < window.size(); ++i)
        if (around[i] * 2 > window[i])
            user_error(ErrorKind::Usage, "[max_pool] padding {} is more than half of the window {}", around[i],
                       window[i]);
    const Number least = x.dtype().is_float()  ? Number(-std::numeric_limits<double>::infinity())
                         : x.dtype().is_bool() ? Number(0)
                                               : Number(int_min(x.dtype()));
    std::vector<int> last;
    for (int i = -static_cast<int>(window.size()); i < 0; ++i) last.push_back(i);
    return windows(padded(x, around, least), window, stride.value_or(window), dilation).max(last);
}

Tensor avg_pool(const Tensor& x, const Shape& window, const std::optional<Shape>& stride, const Shape& padding,
                bool count_padding) {
    check_window("avg_pool", x, window);
    const Shape around = for_each("avg_pool", "padding", padding, window.size(), 0);
    std::vector<int> last;
    for (int i = -static_cast<int>(window.size()); i < 0; ++i) last.push_back(i);
    const auto summed = [&](const Tensor& t) {
        return windows(padded(widened(t), around, 0), window, stride.value_or(window)).sum(last);
    };
    Tensor total = summed(x);
    if (count_padding) return total.div(static_cast<double>(product(window))).cast(floating_dtype(x));
    Tensor ones = Tensor::full(trailing(x.shape(), x.shape().size() - window.size()), 1, floating_dtype(x));
    return total.div(summed(ones)).cast(floating_dtype(x));
}

}  // namespace strata::ops
