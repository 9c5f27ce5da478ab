// Running sums and products.
#include "strata/ops/build_p.h"

namespace strata {

using namespace ops;

namespace {

Tensor scanned(std::string_view name, const Tensor& x, Op o, OptionalAxis axis, OptionalDType dtype) {
    if (!axis && x.ndim() != 1)
        user_error(ErrorKind::Usage, "[{}] shape {} has {} axes: name the one to run along", name, to_string(x.shape()),
                   x.ndim());
    int at = axis_of(name, axis.value_or(0), x.ndim());
    DType type = dtype.value_or(x.dtype().is_float()      ? x.dtype()
                                : x.dtype().is_unsigned() ? dtypes::uint64
                                                          : dtypes::int64);
    Tensor wide = widened(x.cast(type), false);
    if (x.numel() == 0 || x.size(at) == 1) return wide.cast(type);
    return node(Op::scan, wide, ReduceArg{o, {at}}).cast(type);
}

}  // namespace

Tensor Tensor::cumsum(OptionalAxis axis, OptionalDType dtype) const {
    return scanned("cumsum", *this, Op::add, axis, dtype);
}

Tensor Tensor::cumprod(OptionalAxis axis, OptionalDType dtype) const {
    return scanned("cumprod", *this, Op::mul, axis, dtype);
}

}  // namespace strata
