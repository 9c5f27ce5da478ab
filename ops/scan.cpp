// Running sums, products and extremes.
#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"

namespace strata {

using namespace ops;

namespace {

int scanned_axis(std::string_view name, const Tensor& x, OptionalAxis axis) {
    if (!axis && x.ndim() != 1)
        user_error(ErrorKind::Usage, "[{}] shape {} has {} axes: name the one to run along", name, to_string(x.shape()),
                   x.ndim());
    return axis_of(name, axis.value_or(0), x.ndim());
}

Tensor running(const Tensor& x, Op o, int axis) {
    return x.numel() == 0 || x.size(axis) == 1 ? x : node(Op::scan, x, ReduceArg{o, {axis}});
}

Tensor accumulated(std::string_view name, const Tensor& x, Op o, OptionalAxis axis, OptionalDType dtype) {
    const int at = scanned_axis(name, x, axis);
    if (x.is_complex() || dtype.value_or(dtypes::none).is_complex()) {
        Tensor wide = x.cast(dtype.value_or(x.dtype()));
        if (o == Op::mul) return complex_cumprod(wide, at);
        return each_part(wide, [&](const Tensor& part) { return running(part, o, at); });
    }
    DType type = dtype.value_or(x.dtype().is_float()      ? x.dtype()
                                : x.dtype().is_unsigned() ? dtypes::uint64
                                                          : dtypes::int64);
    return running(widened(x.cast(type), false), o, at).cast(type);
}

Tensor extreme(std::string_view name, const Tensor& x, Op o, OptionalAxis axis) {
    check_ordered(name, x);
    const int at = scanned_axis(name, x, axis);
    return running(x.dtype().is_bool() ? x.cast(dtypes::int32) : x, o, at).cast(x.dtype());
}

}  // namespace

Tensor Tensor::cumsum(OptionalAxis axis, OptionalDType dtype) const {
    return accumulated("cumsum", *this, Op::add, axis, dtype);
}

Tensor Tensor::cumprod(OptionalAxis axis, OptionalDType dtype) const {
    return accumulated("cumprod", *this, Op::mul, axis, dtype);
}

Tensor Tensor::cummax(OptionalAxis axis) const { return extreme("cummax", *this, Op::max, axis); }

Tensor Tensor::cummin(OptionalAxis axis) const { return extreme("cummin", *this, Op::min, axis); }

}  // namespace strata
