#include <algorithm>
#include <cmath>
#include <limits>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/gradients.h"
#include "strata/ops/special_p.h"

namespace strata {

using namespace ops;

namespace {

int64_t counted(const Shape& shape, const std::vector<int>& axes) {
    int64_t n = 1;
    for (int axis : axes) n *= shape[static_cast<size_t>(axis)];
    return n;
}

Shape kept_shape(Shape shape, const std::vector<int>& axes, bool keepdims) {
    for (int axis : axes) shape[static_cast<size_t>(axis)] = keepdims ? 1 : -1;
    std::erase(shape, -1);
    return shape;
}

/// x already has the type of the result's accumulator; `empty` is the result over no elements.
Tensor folded(const Tensor& x, Op o, const std::vector<int>& axes, bool keepdims, Number empty) {
    Shape to = kept_shape(x.shape(), axes, keepdims);
    if (x.numel() == 0) return without_derivative(like(x, empty, std::move(to), x.dtype()), {x});
    std::vector<int> real = axes;
    std::erase_if(real, [&](int axis) { return x.shape()[static_cast<size_t>(axis)] == 1; });
    return real.empty() ? x.reshape(to) : reduce(x, o, real).reshape(to);
}

DType sum_dtype(DType type) {
    if (type.is_float() || type.is_complex()) return type;
    return type.is_unsigned() ? dtypes::uint64 : dtypes::int64;
}

DType accumulator(DType type) { return type.is_float() && type.bits() < 32 ? dtypes::float32 : type; }

Tensor accumulated(std::string_view name, const Tensor& x, Op o, const Axes& wanted, bool keepdims, OptionalDType dtype,
                   int empty) {
    std::vector<int> axes = axes_of(name, wanted, x.ndim());
    DType type = dtype.value_or(sum_dtype(x.dtype()));
    if (type.is_complex()) {
        Tensor wide = x.cast(type);
        if (o == Op::mul && wide.numel()) return complex_prod(wide, axes, keepdims);
        if (o == Op::mul)
            return Tensor::of_parts(folded(wide.real(), o, axes, keepdims, 1),
                                    folded(wide.imag(), o, axes, keepdims, 0));
        return each_part(wide, [&](const Tensor& part) { return folded(part, o, axes, keepdims, empty); });
    }
    return folded(x.cast(accumulator(type)), o, axes, keepdims, empty).cast(type);
}

Tensor extreme(std::string_view name, const Tensor& x, Op o, const Axes& wanted, bool keepdims) {
    check_ordered(name, x);
    std::vector<int> axes = axes_of(name, wanted, x.ndim());
    if (counted(x.shape(), axes) == 0)
        user_error(ErrorKind::Shape, "[{}] of no elements: shape {} is empty along the reduced axes", name,
                   to_string(x.shape()));
    Tensor wide = x.dtype().is_bool() ? x.cast(dtypes::int32) : x;
    return folded(wide, o, axes, keepdims, 0).cast(x.dtype());
}

/// The first index whose element is the extreme one; a NaN is found first.
Tensor found(std::string_view name, const Tensor& x, Op o, OptionalAxis axis, bool keepdims) {
    if (!axis) {
        Tensor flat = found(name, x.reshape({x.numel()}), o, 0, false);
        return keepdims ? flat.reshape(Shape(x.shape().size(), 1)) : flat;
    }
    int at = axis_of(name, *axis, x.ndim());
    Tensor best = extreme(name, x, o, at, true);
    Tensor hit = eq(x, best);
    if (x.dtype().is_float()) hit = hit.bitwise_or(x.isnan());
    Tensor position = iota_along(x.shape(), at);
    Tensor first = where(hit, position, x.size(at));
    return folded(first, Op::min, {at}, keepdims, 0).cast(dtypes::int64);
}

/// Divides by the number of elements; x has a type of at least 32 bits.
Tensor averaged(const Tensor& x, const std::vector<int>& axes, bool keepdims, double correction) {
    double n = static_cast<double>(counted(x.shape(), axes));
    if (x.is_complex())
        return each_part(x, [&](const Tensor& part) { return averaged(part, axes, keepdims, correction); });
    Tensor total = folded(x, Op::add, axes, keepdims, 0);
    return div(total, std::max(0.0, n - correction));
}

Tensor variance(std::string_view name, const Tensor& x, const Axes& wanted, double correction, bool keepdims) {
    std::vector<int> axes = axes_of(name, wanted, x.ndim());
    Tensor wide = widened(x);
    Tensor centred = wide.sub(averaged(wide, axes, true, 0));
    Tensor squares = x.is_complex() ? centred.real().square() + centred.imag().square() : centred.square();
    return averaged(squares, axes, keepdims, correction);
}

/// x - max, with 0 for a maximum that is not finite, and that maximum, through which no gradient goes: nothing changes
/// by it.
struct Shifted {
    Tensor x, top;
};
Shifted shifted(const Tensor& x, const std::vector<int>& axes) {
    check_ordered("softmax", x);
    Tensor wide = widened(x), top = folded(wide, Op::max, axes, true, 0);
    top = detach(where(top.isfinite(), top, 0));
    return {wide.sub(top), top};
}

}  // namespace

Tensor Tensor::sum(Axes axes, bool keepdims, OptionalDType dtype) const {
    return accumulated("sum", *this, Op::add, axes, keepdims, dtype, 0);
}

Tensor Tensor::prod(Axes axes, bool keepdims, OptionalDType dtype) const {
    return accumulated("prod", *this, Op::mul, axes, keepdims, dtype, 1);
}

Tensor Tensor::max(Axes axes, bool keepdims) const { return extreme("max", *this, Op::max, axes, keepdims); }

Tensor Tensor::min(Axes axes, bool keepdims) const { return extreme("min", *this, Op::min, axes, keepdims); }

Tensor Tensor::mean(Axes axes, bool keepdims) const {
    return averaged(widened(*this), axes_of("mean", axes, ndim()), keepdims, 0).cast(floating_dtype(*this));
}

Tensor Tensor::var(Axes axes, double correction, bool keepdims) const {
    return variance("var", *this, axes, correction, keepdims).cast(floating_dtype(real()));
}

Tensor Tensor::std(Axes axes, double correction, bool keepdims) const {
    return root_of(variance("std", *this, axes, correction, keepdims)).cast(floating_dtype(real()));
}

Tensor Tensor::any(Axes axes, bool keepdims) const {
    Tensor set = cast(dtypes::boolean).cast(dtypes::int32);
    return folded(set, Op::max, axes_of("any", axes, ndim()), keepdims, 0).cast(dtypes::boolean);
}

Tensor Tensor::all(Axes axes, bool keepdims) const {
    Tensor set = cast(dtypes::boolean).cast(dtypes::int32);
    return folded(set, Op::min, axes_of("all", axes, ndim()), keepdims, 1).cast(dtypes::boolean);
}

Tensor Tensor::argmax(OptionalAxis axis, bool keepdims) const {
    return found("argmax", *this, Op::max, axis, keepdims);
}

Tensor Tensor::argmin(OptionalAxis axis, bool keepdims) const {
    return found("argmin", *this, Op::min, axis, keepdims);
}

Tensor Tensor::softmax(int axis) const {
    std::vector<int> axes = axes_of("softmax", axis, ndim());
    Tensor e = shifted(*this, axes).x.exp();
    return e.div(folded(e, Op::add, axes, true, 0)).cast(floating_dtype(*this));
}

Tensor Tensor::log_softmax(int axis) const {
    std::vector<int> axes = axes_of("log_softmax", axis, ndim());
    Tensor x = shifted(*this, axes).x;
    return x.sub(folded(x.exp(), Op::add, axes, true, 0).log()).cast(floating_dtype(*this));
}

Tensor Tensor::logsumexp(Axes wanted, bool keepdims) const {
    std::vector<int> axes = axes_of("logsumexp", wanted, ndim());
    Shifted s = shifted(*this, axes);
    Tensor sum = folded(s.x.exp(), Op::add, axes, true, 0), none = sum.eq(0);  // of -infinity alone: no slope
    Tensor total = where(none, -std::numeric_limits<double>::infinity(), where(none, 1, sum).log().add(s.top));
    return total.reshape(kept_shape(shape(), axes, keepdims)).cast(floating_dtype(*this));
}

}  // namespace strata
