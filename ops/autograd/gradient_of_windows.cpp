// Gradients of an implicit GEMM. The gradient of a tensor that windows slide over: each element gets one sum over the
// windows that hold it. And the three maps of a convolution, whose gradients are each other.
#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/convolution_p.h"
#include "strata/ops/gradient_rules.h"

namespace strata::ops {
namespace {

Pairs all_of(const Shape& shape) {
    Pairs out;
    for (int64_t n : shape) out.emplace_back(0, n);
    return out;
}

/// `stride - 1` zeros after each element of an axis but the last one.
Tensor spread(const Tensor& x, size_t axis, int64_t stride) {
    if (stride == 1) return x;
    const int64_t size = x.shape()[axis];
    const int at = static_cast<int>(axis);
    Tensor out = x.unsqueeze(at + 1);
    Pairs zeros(out.shape().size(), {0, 0});
    zeros[axis + 1].second = stride - 1;
    out = out.pad(zeros).flatten(at, at + 1);
    Pairs kept = all_of(out.shape());
    kept[axis].second = (size - 1) * stride + 1;
    return out.shrink(kept);
}

/// g (before, places, after, window) of one axis -> (before, size, after, window). For each element of the axis it has
/// the gradient that arrived at it as element j of a window, or 0. Row j is shifted by j * dilation: rows are read that
/// are shorter by the dilation than they are.
Tensor shifted(const Tensor& g, size_t axis, size_t window_axis, int64_t size, int64_t stride, int64_t dilation) {
    const int64_t window = g.shape()[window_axis];
    const int last = static_cast<int>(g.shape().size()) - 1;
    Tensor t = spread(g, axis, stride).movedim(static_cast<int>(window_axis), -1).movedim(static_cast<int>(axis), -1);
    const int64_t length = t.shape().back(), row = length + (window - 1) * dilation;
    Pairs zeros(t.shape().size(), {0, 0});
    zeros.back().second = row + dilation - length;
    t = t.pad(zeros).flatten(last - 1, last);
    Pairs kept = all_of(t.shape());
    kept.back().second = window * row;
    t = t.shrink(kept);
    Shape to(t.shape().begin(), t.shape().end() - 1);
    to.insert(to.end(), {window, row});
    zeros.back().second = size - row;
    return t.reshape(to).pad(zeros).movedim(-1, static_cast<int>(axis)).movedim(-1, static_cast<int>(window_axis));
}

Tensor folded(const Tensor& g, const Shape& sizes, const Shape& stride, const Shape& dilation) {
    const size_t axes = stride.size(), first = g.shape().size() - 2 * axes;
    Tensor t = widened(g);
    std::vector<int> windows;
    for (size_t i = 0; i < axes; ++i) {
        t = shifted(t, first + i, first + axes + i, sizes[i], stride[i], dilation[i]);
        windows.push_back(static_cast<int>(first + axes + i));
    }
    const Shape window = trailing(g.shape(), first + axes);
    return with_backward(t.sum(windows).cast(g.dtype()), "folded", {g}, [=](const Tensor& seed) {
        return std::vector{under_windows(seed, window, stride, dilation)};
    });
}

/// True if terms have the channels last: those that matrix instructions multiply, where channels fill a load of 16
/// bytes.
bool has_channels_last(DType type, int64_t channels) {
    constexpr int64_t kLoadBits = 128;
    return type.is_float() && type.bits() < 32 && channels * type.bits() >= kLoadBits;
}

/// x (n, groups * in, sizes) as (n, groups, places, terms), one term an element of each window and channel. x has its
/// channels last where terms have them last.
Tensor under_places(const Tensor& x, const Steps& steps) {
    const size_t axes = steps.window.size();
    const int64_t n = x.shape()[0], groups = steps.groups, in = x.shape()[1] / groups;
    const bool last = has_channels_last(x.dtype(), in);
    const Tensor around = padded(x, steps.padding, 0);
    const Tensor under = last ? viewed_from(around.movedim(1, -1), 1, steps.window, steps.stride, steps.dilation)
                              : viewed(around, steps.window, steps.stride, steps.dilation);
    const size_t first = last ? 1 : 2, channels = last ? 1 + axes : 1, window = 2 + axes;  // axes of `under`
    const auto begin = under.shape().begin() + static_cast<ptrdiff_t>(first);
    const Shape places(begin, begin + static_cast<ptrdiff_t>(axes));
    Shape apart = under.shape();
    apart[channels] = in;
    apart.insert(apart.begin() + static_cast<ptrdiff_t>(channels), groups);
    const auto moved = [&](size_t axis) { return static_cast<int>(axis + (axis > channels)); };  // with groups apart
    std::vector<int> order = {0, static_cast<int>(channels)};
    for (size_t i = 0; i < axes; ++i) order.push_back(moved(first + i));
    if (!last) order.push_back(static_cast<int>(channels) + 1);
    for (size_t i = 0; i < axes; ++i) order.push_back(moved(window + i));
    if (last) order.push_back(static_cast<int>(channels) + 1);
    return under.reshape(apart).permute(order).reshape({n, groups, product(places), in * product(steps.window)});
}

/// By operations alone.
Tensor convolution(const Tensor& x, const Tensor& weight, const Steps& steps) {
    const size_t axes = steps.window.size();
    const int64_t n = x.shape()[0], groups = steps.groups, in = weight.shape()[1], out = weight.shape()[0] / groups;
    const int64_t inner = in * product(steps.window);
    Shape to{n, groups * out};
    for (size_t i = 0; i < axes; ++i) {
        const int64_t reach = steps.dilation[i] * (steps.window[i] - 1) + 1;
        to.push_back((x.shape()[2 + i] + 2 * steps.padding[i] - reach) / steps.stride[i] + 1);
    }
    // (n, groups, places, terms) x (groups, terms, out)
    Tensor right = weight.reshape(joined({groups, out, in}, steps.window));
    if (has_channels_last(x.dtype(), in)) right = right.movedim(2, -1);
    right = right.reshape({groups, out, inner}).transpose(1, 2);
    return under_places(x, steps).matmul(right).transpose(2, 3).reshape(to);
}

}  // namespace

Tensor under_windows(const Tensor& x, const Shape& window, const Shape& stride, const Shape& dilation) {
    Tensor value = viewed(x, window, stride, dilation);
    if (x.is_complex() || value.numel() == 0) return value;
    return with_backward(value, "windows", {x},
                         [=, sizes = trailing(x.shape(), x.shape().size() - window.size())](const Tensor& g) {
                             return std::vector{folded(g, sizes, stride, dilation)};
                         });
}

Tensor convolved(const Tensor& x, const Tensor& weight, const Steps& steps) {
    Tensor value = convolution(x, weight, steps);
    if (x.is_complex() || weight.is_complex()) return value;
    return with_backward(value, "convolved", {x, weight}, [=, a = held(x), b = held(weight)](const Tensor& g) {
        return std::vector{spread_back(g, b, steps, trailing(a.shape(), 2)), correlated(a, g, steps)};
    });
}

Tensor spread_back(const Tensor& places, const Tensor& weight, const Steps& steps, const Shape& sizes) {
    const int64_t out = weight.shape()[0] / steps.groups, in = weight.shape()[1], groups = steps.groups;
    // Places with stride - 1 zeros between them, under windows of the weights the other way round.
    Tensor apart = places;
    Pairs around(2, {0, 0}), kept = all_of({places.shape()[0], places.shape()[1]});
    std::vector<int> turned;
    for (size_t i = 0; i < sizes.size(); ++i) {
        apart = spread(apart, i + 2, steps.stride[i]);
        const int64_t reach = steps.dilation[i] * (steps.window[i] - 1), wanted = sizes[i] + reach;
        const int64_t before = reach - steps.padding[i], after = wanted - apart.shape()[i + 2] - before;
        // A window wholly in the padding of the convolution has no gradient.
        around.emplace_back(std::max<int64_t>(before, 0), std::max<int64_t>(after, 0));
        const int64_t from = std::max<int64_t>(-before, 0);
        kept.emplace_back(from, from + wanted);
        turned.push_back(static_cast<int>(i) + 2);
    }
    Tensor other_way = weight.flip(turned)
                           .reshape(joined({groups, out, in}, steps.window))
                           .transpose(1, 2)
                           .reshape(joined({groups * in, out}, steps.window));
    const Shape one(sizes.size(), 1), none(sizes.size(), 0);
    Tensor value =
        convolution(apart.pad(around).shrink(kept), other_way, {steps.window, one, none, steps.dilation, groups});
    if (places.is_complex() || weight.is_complex()) return value;
    return with_backward(value, "spread back", {places, weight},
                         [=, a = held(places), b = held(weight)](const Tensor& g) {
                             return std::vector{convolved(g, b, steps), correlated(g, a, steps)};
                         });
}

Tensor correlated(const Tensor& x, const Tensor& places, const Steps& steps) {
    const int64_t n = x.shape()[0], groups = steps.groups, in = x.shape()[1] / groups, out = places.shape()[1] / groups;
    const int64_t spots = product(trailing(places.shape(), 2)), inner = in * product(steps.window);
    // (groups, out, n * places) x (groups, n * places, terms)
    const Tensor right = under_places(x, steps).transpose(0, 1).reshape({groups, n * spots, inner});
    const Tensor left = places.reshape({n, groups, out, spots}).permute({1, 2, 0, 3}).reshape({groups, out, n * spots});
    const Tensor sums = left.matmul(right);
    const Tensor value = has_channels_last(x.dtype(), in)
                             ? sums.reshape(joined(joined({groups * out}, steps.window), {in})).movedim(-1, 1)
                             : sums.reshape(joined({groups * out, in}, steps.window));
    if (x.is_complex() || places.is_complex()) return value;
    return with_backward(value, "correlated", {x, places}, [=, a = held(x), b = held(places)](const Tensor& g) {
        return std::vector{spread_back(b, g, steps, trailing(a.shape(), 2)), convolved(a, g, steps)};
    });
}

}  // namespace strata::ops
