#include <algorithm>
#include <cmath>
#include <limits>

#include "strata/ops/build_p.h"

namespace strata {

using namespace ops;

namespace {

int64_t arange_count(const Number& start, const Number& stop, const Number& step) {
    double by = step.as_double();
    if (by == 0 || std::isnan(by)) user_error(ErrorKind::Usage, "[arange] a step of {} goes nowhere", by);
    if (start.kind != Kind::Float && stop.kind != Kind::Float && step.kind != Kind::Float) {
        using Wide = __int128;
        auto wide = [](const Number& n) { return n.kind == Kind::UInt ? Wide(static_cast<uint64_t>(n.i)) : Wide(n.i); };
        Wide span = wide(stop) - wide(start), s = wide(step), n = s > 0 ? (span + s - 1) / s : (span + s + 1) / s;
        if (n > std::numeric_limits<int64_t>::max())
            user_error(ErrorKind::Shape, "[arange] more elements than 64 bits can count");
        return std::max<int64_t>(0, static_cast<int64_t>(n));
    }
    double n = std::ceil((stop.as_double() - start.as_double()) / by);
    if (!(n < 9e18))
        user_error(ErrorKind::Usage, "[arange] from {} to {} by {} has no finite length", start.as_double(),
                   stop.as_double(), by);
    return n > 0 ? static_cast<int64_t>(n) : 0;
}

}  // namespace

Tensor Tensor::full(Shape shape, Number value, OptionalDType dtype) {
    check_shape("full", shape);
    GraphScope scope;
    DType type = dtype.value_or(value.default_dtype());
    if (type.is_complex())
        return of_parts(full(shape, value.real(), type.part()), full(shape, value.imaginary, type.part()));
    return uniform(value.constant(type), std::move(shape));
}

Tensor Tensor::zeros(Shape shape, DType dtype) { return full(std::move(shape), 0, dtype); }

Tensor Tensor::ones(Shape shape, DType dtype) { return full(std::move(shape), 1, dtype); }

Tensor Tensor::full_like(Number value, OptionalDType dtype) const {
    return like(*this, value, shape(), dtype.value_or(this->dtype()));
}

Tensor Tensor::zeros_like(OptionalDType dtype) const { return full_like(0, dtype); }

Tensor Tensor::ones_like(OptionalDType dtype) const { return full_like(1, dtype); }

Tensor Tensor::arange(Number start, Number stop, Number step, OptionalDType dtype) {
    for (const Number& n : {start, stop, step}) (void)n.as_double();  // a DType error for a complex one
    bool floating = start.kind == Kind::Float || stop.kind == Kind::Float || step.kind == Kind::Float;
    DType type = dtype.value_or(floating ? dtypes::float32 : dtypes::int64);
    int64_t n = arange_count(start, stop, step);
    if (n == 0) return zeros({0}, type);
    if (!floating && type.is_integer()) {
        uint64_t last = static_cast<uint64_t>(start.i) + static_cast<uint64_t>(n - 1) * static_cast<uint64_t>(step.i);
        start.constant(type);  // a DType error where a value does not fit
        (stop.kind == Kind::UInt ? Number(last) : Number(static_cast<int64_t>(last))).constant(type);
    }
    // Counted in a type that holds every value, then cast: a narrow type neither wraps on the way nor loses bits twice.
    DType counted = type.is_float() ? (type.bits() < 32 ? dtypes::float32 : type)
                    : floating      ? dtypes::float64
                                    : dtypes::int64;
    Tensor i = iota(n);
    if (counted == dtypes::int64 && type.bits() <= 32) counted = i.dtype();
    i = i.cast(counted);
    if (step.as_double() != 1) i = i.mul(step);
    if (start.as_double() != 0) i = i.add(start);
    return i.cast(type);
}

Tensor Tensor::linspace(double start, double stop, int64_t count, DType dtype, bool endpoint) {
    if (count < 0) user_error(ErrorKind::Usage, "[linspace] {} points: the count cannot be negative", count);
    if (!dtype.is_float()) user_error(ErrorKind::DType, "[linspace] gives floats, not {}", dtype.name());
    if (count == 0) return zeros({0}, dtype);
    int64_t steps = endpoint ? count - 1 : count;
    if (steps == 0) return full({1}, start, dtype);
    Tensor i = iota(count), x = i.cast(dtype.bits() < 32 ? dtypes::float32 : dtype);
    x = x.mul((stop - start) / static_cast<double>(steps)).add(start);
    if (endpoint) x = ops::where(ops::eq(i, count - 1), stop, x);
    return x.cast(dtype);
}

Tensor Tensor::eye(int64_t rows, std::optional<int64_t> columns, int64_t diagonal, DType dtype) {
    Shape shape{rows, columns.value_or(rows)};
    check_shape("eye", shape);
    if (product(shape) == 0) return zeros(shape, dtype);
    Tensor row = iota_along(shape, 0).cast(dtypes::int64), column = iota_along(shape, 1).cast(dtypes::int64);
    diagonal = std::clamp(diagonal, -shape[0], shape[1]);  // all beyond are outside
    return ops::eq(ops::add(row, diagonal), column).cast(dtype);
}

namespace {

void check_matrices(std::string_view name, const Tensor& x) {
    if (x.ndim() < 2)
        user_error(ErrorKind::Shape, "[{}] shape {} has no matrices: two axes are needed", name, to_string(x.shape()));
}

Tensor below_diagonal(const Tensor& x, int64_t diagonal) {
    Shape matrix(x.shape().end() - 2, x.shape().end());
    diagonal = std::clamp(diagonal, -matrix[0], matrix[1]);  // beyond these all are on one side
    return le(iota_along(matrix, 1).cast(dtypes::int64), add(iota_along(matrix, 0).cast(dtypes::int64), diagonal));
}

}  // namespace

Tensor Tensor::tril(int64_t diagonal) const {
    check_matrices("tril", *this);
    return numel() ? where(below_diagonal(*this, diagonal), *this, like(*this, 0)) : *this;
}

Tensor Tensor::triu(int64_t diagonal) const {
    check_matrices("triu", *this);
    int64_t above = diagonal == std::numeric_limits<int64_t>::min() ? diagonal : diagonal - 1;
    return numel() ? where(below_diagonal(*this, above), like(*this, 0), *this) : *this;
}

}  // namespace strata
