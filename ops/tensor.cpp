#include "strata/ops/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/runtime/device.h"

namespace strata {

bool Number::is_zero() const { return i == 0 && f == 0 && imaginary == 0; }

Number Number::real() const { return kind == Kind::Complex ? Number(f) : *this; }

double Number::as_double() const {
    if (kind == Kind::Complex)
        user_error(ErrorKind::DType, "the number {}{:+}j is complex: a real one is needed", f, imaginary);
    if (kind == Kind::Float) return f;
    return kind == Kind::UInt ? static_cast<double>(static_cast<uint64_t>(i)) : static_cast<double>(i);
}

int64_t Number::as_int() const { return kind == Kind::Float ? float_to_int(dtypes::int64, f) : i; }

DType Number::default_dtype() const {
    switch (kind) {
        case Kind::Bool: return dtypes::boolean;
        case Kind::Int: return dtypes::int64;
        case Kind::UInt: return dtypes::uint64;
        case Kind::Float: return dtypes::float32;
        case Kind::Complex: return dtypes::complex64;
    }
    return dtypes::none;
}

DType Number::dtype_with(DType other) const {
    if (other.is_complex()) return other;
    if (kind == Kind::Complex) return other.complex();
    if (kind == Kind::Float) return other.is_float() ? other : dtypes::float32;
    return other.is_bool() ? default_dtype() : other;
}

UOp Number::constant(DType dtype) const {
    if (dtype.is_complex())
        user_error(ErrorKind::DType,
                   "constant {}: graphs are of real types; a complex tensor is two, its real and imag", dtype.name());
    if (kind == Kind::Complex)
        user_error(ErrorKind::DType, "the number {}{:+}j does not fit {}: it is complex", f, imaginary, dtype.name());
    if (dtype.is_bool()) return constant_int(dtype, as_double() != 0);
    if (dtype.is_float()) return strata::constant(dtype, as_double());
    if (kind == Kind::Float) {
        double whole = std::trunc(f),
               above = dtype == dtypes::uint64 ? 0x1p64 : std::ldexp(1.0, dtype.bits() - !dtype.is_unsigned());
        if (!(whole >= static_cast<double>(int_min(dtype)) && whole < above))
            user_error(ErrorKind::DType, "the number {} does not fit {}; cast the tensor to a wider type first", f,
                       dtype.name());
        return constant_int(dtype, float_to_int(dtype, f));
    }
    bool fits = kind == Kind::UInt ? dtype == dtypes::uint64
                                   : i >= int_min(dtype) && (i <= int_max(dtype) || dtype == dtypes::uint64);
    if (!fits)
        user_error(ErrorKind::DType, "the integer {} does not fit {}; cast the tensor to a wider type first",
                   kind == Kind::UInt ? std::to_string(static_cast<uint64_t>(i)) : std::to_string(i), dtype.name());
    return constant_int(dtype, i);
}

Tensor Tensor::uniform(UOp scalar, Shape shape, const runtime::Device* device) {
    Tensor t(scalar, device);
    t.uniform_ = true;
    t.uniform_shape_ = std::move(shape);
    return t;
}

int64_t Tensor::size(int axis) const { return shape()[static_cast<size_t>(ops::axis_of("size", axis, ndim()))]; }

int64_t Tensor::numel() const { return ops::product(shape()); }

int64_t Tensor::nbytes() const {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(numel(), dtype().bytes(), &bytes))
        user_error(ErrorKind::Shape, "shape {} of {} has more bytes than 64 bits can count", to_string(shape()),
                   dtype().name());
    return bytes;
}

UOp Tensor::uop() const {
    if (parts_) say_that_parts_are_two();
    if (!uniform_ || uniform_shape_.empty()) return value();
    UOp ones = make(Op::reshape, dtype(), {value()}, ShapeArg{Shape(uniform_shape_.size(), 1)});
    if (ones.shape() == uniform_shape_) return ones;
    return make(Op::expand, dtype(), {ones}, ShapeArg{uniform_shape_});
}

namespace ops {

Tensor op(Op o, std::initializer_list<Tensor> operands) {
    GraphScope scope;
    UOp sources[3];
    size_t n = 0;
    const Tensor* shaped = nullptr;
    const runtime::Device* device = nullptr;
    for (const Tensor& x : operands) {
        sources[n++] = x.value();
        if (!x.is_uniform()) shaped = &x;
        if (!device) device = x.placement();
    }
    UOp result = alu(o, std::span<const UOp>(sources, n));
    return shaped ? Tensor(result, device) : Tensor::uniform(result, operands.begin()->shape(), device);
}

Tensor like(const Tensor& x, Number value) { return like(x, value, x.shape(), x.dtype()); }

Tensor like(const Tensor& x, Number value, Shape shape, DType type) {
    GraphScope scope;
    if (type.is_complex())
        return Tensor::of_parts(like(x, value.real(), shape, type.part()),
                                like(x, value.imaginary, shape, type.part()));
    return Tensor::uniform(value.constant(type), std::move(shape), x.placement());
}

Tensor as_tensor(const Operand& x) {
    if (x.tensor()) return *x.tensor();
    return Tensor::full({}, x.number());
}

Tensor node(Op o, const Tensor& x, Arg arg) {
    GraphScope scope;
    return Tensor(make(o, x.dtype(), {x.uop()}, std::move(arg)), x.placement());
}

Tensor reduce(const Tensor& x, Op o, std::vector<int> axes) {
    return node(Op::reduce, x, ReduceArg{o, std::move(axes)});
}

Tensor iota(int64_t n) {
    GraphScope scope;
    DType type = n <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
    return Tensor(make(Op::iota, type, {}, ShapeArg{{n}}));
}

Tensor iota_along(const Shape& shape, int axis) {
    Shape ones(shape.size(), 1);
    int64_t n = ones[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
    return iota(n).reshape(std::move(ones));
}

const runtime::Device* common_device(std::string_view name, const Tensor& a, const Tensor& b) {
    const runtime::Device *x = a.placement(), *y = b.placement();
    if (x && y && x != y)
        user_error(ErrorKind::Device, "[{}] tensors on {} and {}: move one with to(\"{}\")", name, x->name(), y->name(),
                   x->name());
    return x ? x : y;
}

Shape broadcast_shapes(std::string_view name, const Shape& a, const Shape& b) {
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    Shape out = longer;
    size_t skip = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i) {
        int64_t& n = out[skip + i];
        int64_t m = shorter[i];
        if (n == m || m == 1) continue;
        if (n != 1)
            user_error(ErrorKind::Shape, "[{}] shapes {} and {} do not broadcast: sizes {} and {} of axis -{} differ",
                       name, to_string(a), to_string(b), a[a.size() - (shorter.size() - i)],
                       b[b.size() - (shorter.size() - i)], shorter.size() - i);
        n = m;
    }
    check_shape(name, out);
    return out;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) { return broadcast_shapes("broadcast_shapes", a, b); }

Tensor expand_to(const Tensor& x, const Shape& shape) {
    if (x.shape() == shape) return x;
    if (x.is_complex()) return each_part(x, [&](const Tensor& part) { return expand_to(part, shape); });
    if (x.is_uniform()) return Tensor::uniform(x.value(), shape, x.placement());
    Shape aligned(shape.size() - x.shape().size(), 1);
    aligned.insert(aligned.end(), x.shape().begin(), x.shape().end());
    Tensor y = x.reshape(std::move(aligned));
    if (y.shape() == shape) return y;
    if (y.value().is(Op::expand)) y = Tensor(y.value().src(0), y.placement());
    return node(Op::expand, y, ShapeArg{shape});
}

int axis_of(std::string_view name, int axis, int ndim) {
    if (axis < -ndim || axis >= ndim)
        user_error(ErrorKind::Shape, "[{}] axis {} does not exist: the tensor has {} axes", name, axis, ndim);
    return axis < 0 ? axis + ndim : axis;
}

std::vector<int> axes_of(std::string_view name, const Axes& axes, int ndim) {
    std::vector<int> out;
    if (!axes.list)
        for (int i = 0; i < ndim; ++i) out.push_back(i);
    else
        for (int axis : *axes.list) out.push_back(axis_of(name, axis, ndim));
    std::sort(out.begin(), out.end());
    if (auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end())
        user_error(ErrorKind::Usage, "[{}] axis {} is named twice", name, *twice);
    return out;
}

int64_t product(const Shape& shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
}

int64_t times(std::string_view name, int64_t a, int64_t b) {
    if (!__builtin_mul_overflow(a, b, &a)) return a;
    user_error(ErrorKind::Shape, "[{}] the size {} x {} does not fit 64 bits", name, a, b);
}

int64_t plus(std::string_view name, int64_t a, int64_t b) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    user_error(ErrorKind::Shape, "[{}] the size {} + {} does not fit 64 bits", name, a, b);
}

void check_shape(std::string_view name, const Shape& shape) {
    int64_t n = 1;
    for (int64_t d : shape) {
        if (d < 0) user_error(ErrorKind::Shape, "[{}] shape {} has a negative size", name, to_string(shape));
        if (d > 0 && __builtin_mul_overflow(n, d, &n))
            user_error(ErrorKind::Shape, "[{}] shape {} has more elements than 64 bits can count", name,
                       to_string(shape));
    }
}

void check_integer(std::string_view name, const Tensor& x) {
    if (!x.dtype().is_integer())
        user_error(ErrorKind::DType, "[{}] indices are {}: integers are needed, cast first", name, x.dtype().name());
}

DType common_type(std::initializer_list<Tensor> operands) {
    DType type = operands.begin()->dtype();
    for (const Tensor& x : operands)
        if (x.dtype() != type) type = promote(type, x.dtype());
    return type;
}

DType floating_dtype(const Tensor& x) { return x.dtype().is_float() || x.is_complex() ? x.dtype() : dtypes::float32; }

DType bits_of(DType type) {
    static constexpr DType kSigned[] = {dtypes::int8, dtypes::int16, dtypes::int32, dtypes::int64};
    return kSigned[std::countr_zero(static_cast<unsigned>(type.bytes()))];
}

Tensor widened(const Tensor& x, bool floating) {
    DType t = x.dtype();
    bool narrow = t.is_float() ? t.bits() < 32 : floating && !t.is_complex();
    return narrow ? x.cast(dtypes::float32) : x;
}

}  // namespace ops
}  // namespace strata
