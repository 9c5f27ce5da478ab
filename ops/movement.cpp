#include <algorithm>
#include <numeric>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"

namespace strata {

using namespace ops;

namespace {

Tensor same_value(const Tensor& x, Shape shape) { return Tensor::uniform(x.value(), std::move(shape), x.placement()); }

/// Every size, with -1 worked out from the number of elements.
Shape resolved(const Shape& from, Shape to) {
    int64_t* unknown = nullptr;
    int64_t known = 1;
    for (int64_t& n : to) {
        if (n == -1 && !unknown) {
            unknown = &n;
            continue;
        }
        if (n < 0)
            user_error(ErrorKind::Shape, "[reshape] {} to {}: one size may be -1, none below", to_string(from),
                       to_string(to));
        known = times("reshape", known, n);
    }
    int64_t have = product(from);
    Shape asked = to;
    if (unknown && known > 0 && have % known == 0) *unknown = have / known;
    if (product(to) != have || (unknown && *unknown < 0))
        user_error(ErrorKind::Shape, "[reshape] {} to {}: {} elements do not fill the new shape", to_string(from),
                   to_string(asked), have);
    return to;
}

void check_pairs(std::string_view name, const Pairs& pairs, const Shape& shape) {
    if (pairs.size() != shape.size())
        user_error(ErrorKind::Shape, "[{}] {} pairs for the {} axes of shape {}", name, pairs.size(), shape.size(),
                   to_string(shape));
}

}  // namespace

Tensor Tensor::reshape(Shape to) const {
    to = resolved(shape(), std::move(to));
    if (to == shape()) return *this;
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.reshape(to); });
    if (uniform_) return same_value(*this, std::move(to));
    GraphScope scope;
    UOp source = value();
    while (source.is(Op::reshape)) source = source.src(0);
    if (source.shape() == to) return Tensor(source, device_);
    return Tensor(make(Op::reshape, dtype(), {source}, ShapeArg{std::move(to)}), device_);
}

Tensor Tensor::permute(const std::vector<int>& wanted) const {
    if (wanted.size() != shape().size())
        user_error(ErrorKind::Shape, "[permute] {} axes for shape {}", wanted.size(), to_string(shape()));
    std::vector<int> order;
    for (int axis : wanted) order.push_back(axis_of("permute", axis, ndim()));
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
        user_error(ErrorKind::Usage, "[permute] axis {} is named twice", *twice);
    if (std::is_sorted(order.begin(), order.end())) return *this;
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.permute(order); });
    if (uniform_) {
        Shape to;
        for (int axis : order) to.push_back(shape()[static_cast<size_t>(axis)]);
        return same_value(*this, std::move(to));
    }
    if (!value().is(Op::permute)) return node(Op::permute, *this, AxesArg{std::move(order)});
    const std::vector<int>& inner = value().as<AxesArg>().axes;
    for (int& axis : order) axis = inner[static_cast<size_t>(axis)];
    Tensor source(value().src(0), device_);
    return std::is_sorted(order.begin(), order.end()) ? source : node(Op::permute, source, AxesArg{std::move(order)});
}

Tensor Tensor::transpose(int axis0, int axis1) const {
    std::vector<int> order(shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<size_t>(axis_of("transpose", axis0, ndim()))],
              order[static_cast<size_t>(axis_of("transpose", axis1, ndim()))]);
    return permute(order);
}

Tensor Tensor::T() const {
    std::vector<int> order(shape().size());
    std::iota(order.rbegin(), order.rend(), 0);
    return permute(order);
}

Tensor Tensor::mT() const { return transpose(-2, -1); }

Tensor Tensor::movedim(Axes source, Axes destination) const {
    std::vector<int> from = source.list.value_or(std::vector<int>()),
                     to = destination.list.value_or(std::vector<int>());
    if (from.size() != to.size())
        user_error(ErrorKind::Usage, "[movedim] {} axes to {} places", from.size(), to.size());
    std::vector<int> order(shape().size(), -1);
    for (int& axis : from) axis = axis_of("movedim", axis, ndim());
    for (size_t i = 0; i < to.size(); ++i) {
        int& place = order[static_cast<size_t>(axis_of("movedim", to[i], ndim()))];
        if (place >= 0 || std::count(from.begin(), from.end(), from[i]) > 1)
            user_error(ErrorKind::Usage, "[movedim] an axis or a place is named twice");
        place = from[i];
    }
    int next = 0;
    for (int& place : order) {
        if (place >= 0) continue;
        while (std::find(from.begin(), from.end(), next) != from.end()) next++;
        place = next++;
    }
    return permute(order);
}

Tensor Tensor::expand(Shape to) const {
    const Shape& from = shape();
    Shape wanted = to;
    bool fits = to.size() >= from.size();
    for (size_t i = 0; fits && i < from.size(); ++i) {
        int64_t& n = to[to.size() - from.size() + i];
        if (n == -1) n = from[i];
        fits = n == from[i] || from[i] == 1;
    }
    if (!fits || std::any_of(to.begin(), to.end(), [](int64_t n) { return n < 0; }))
        user_error(ErrorKind::Shape, "[expand] {} to {}: only axes of size 1 can grow, new axes come first",
                   to_string(from), to_string(wanted));
    check_shape("expand", to);
    return expand_to(*this, to);
}

Tensor Tensor::broadcast_to(Shape to) const { return expand(std::move(to)); }

Tensor Tensor::pad(const Pairs& before_after, Number fill) const {
    check_pairs("pad", before_after, shape());
    bool none = true;
    Shape to = shape();
    for (size_t i = 0; i < to.size(); ++i) {
        auto [before, after] = before_after[i];
        if (before < 0 || after < 0)
            user_error(ErrorKind::Usage,
                       "[pad] axis {} by ({}, {}): sizes cannot be negative; shrink takes elements away", i, before,
                       after);
        none &= before == 0 && after == 0;
        to[i] = plus("pad", to[i], plus("pad", before, after));
    }
    if (none) return *this;
    check_shape("pad", to);
    if (parts_) return complex_pad(*this, before_after, fill);
    if (numel() == 0) return without_derivative(like(*this, fill, std::move(to), dtype()), {*this});
    BoundsArg arg{before_after};
    Tensor padded = node(Op::pad, *this, arg);
    if (fill.is_zero()) return padded;
    GraphScope scope;
    Tensor inside = node(Op::pad, uniform(constant_int(dtypes::boolean, 1), shape(), device_), arg);
    return select(inside, padded, like(padded, fill));
}

Tensor Tensor::shrink(const Pairs& begin_end) const {
    check_pairs("shrink", begin_end, shape());
    bool whole = true;
    Shape to;
    for (size_t i = 0; i < begin_end.size(); ++i) {
        auto [begin, end] = begin_end[i];
        if (begin < 0 || begin > end || end > shape()[i])
            user_error(ErrorKind::Shape, "[shrink] axis {} to [{}, {}): shape {} has {} there", i, begin, end,
                       to_string(shape()), shape()[i]);
        whole &= begin == 0 && end == shape()[i];
        to.push_back(end - begin);
    }
    if (whole) return *this;
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.shrink(begin_end); });
    if (uniform_) return same_value(*this, std::move(to));
    if (!value().is(Op::shrink)) return node(Op::shrink, *this, BoundsArg{begin_end});
    Pairs merged = value().as<BoundsArg>().bounds;
    for (size_t i = 0; i < merged.size(); ++i) {
        int64_t base = merged[i].first;
        merged[i] = {base + begin_end[i].first, base + begin_end[i].second};
    }
    return node(Op::shrink, Tensor(value().src(0), device_), BoundsArg{std::move(merged)});
}

Tensor Tensor::flip(Axes wanted) const {
    std::vector<int> axes = axes_of("flip", wanted, ndim());
    std::erase_if(axes, [&](int axis) { return shape()[static_cast<size_t>(axis)] <= 1; });
    if (axes.empty() || uniform_) return *this;
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.flip(axes); });
    if (!value().is(Op::flip)) return node(Op::flip, *this, AxesArg{axes});
    const std::vector<int>& inner = value().as<AxesArg>().axes;
    std::vector<int> merged;
    std::set_symmetric_difference(inner.begin(), inner.end(), axes.begin(), axes.end(), std::back_inserter(merged));
    Tensor source(value().src(0), device_);
    return merged.empty() ? source : node(Op::flip, source, AxesArg{std::move(merged)});
}

Tensor Tensor::squeeze(Axes wanted) const {
    std::vector<int> axes = axes_of("squeeze", wanted, ndim());
    Shape to;
    for (int i = 0; i < ndim(); ++i) {
        int64_t n = shape()[static_cast<size_t>(i)];
        bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
        if (named && wanted.list && n != 1)
            user_error(ErrorKind::Shape, "[squeeze] axis {} of shape {} has size {}, not 1", i, to_string(shape()), n);
        if (!named || n != 1) to.push_back(n);
    }
    return reshape(std::move(to));
}

Tensor Tensor::unsqueeze(int axis) const {
    Shape to = shape();
    to.insert(to.begin() + axis_of("unsqueeze", axis, ndim() + 1), 1);
    return reshape(std::move(to));
}

Tensor Tensor::flatten(int first, int last) const {
    if (ndim() == 0) return reshape({1});
    first = axis_of("flatten", first, ndim());
    last = axis_of("flatten", last, ndim());
    if (first > last) user_error(ErrorKind::Usage, "[flatten] the first axis {} comes after the last, {}", first, last);
    Shape to(shape().begin(), shape().begin() + first);
    to.push_back(product(Shape(shape().begin() + first, shape().begin() + last + 1)));
    to.insert(to.end(), shape().begin() + last + 1, shape().end());
    return reshape(std::move(to));
}

Tensor Tensor::unflatten(int axis, const Shape& sizes) const {
    axis = axis_of("unflatten", axis, ndim());
    Shape to(shape().begin(), shape().begin() + axis);
    for (int64_t n : resolved({shape()[static_cast<size_t>(axis)]}, sizes)) to.push_back(n);
    to.insert(to.end(), shape().begin() + axis + 1, shape().end());
    return reshape(std::move(to));
}

Tensor Tensor::contiguous() const {
    if (parts_) return each_part(*this, [](const Tensor& part) { return part.contiguous(); });
    if (!uniform_ && (value().is(Op::contiguous) || value().is(Op::buffer))) return *this;
    return node(Op::contiguous, *this, {});
}

}  // namespace strata
