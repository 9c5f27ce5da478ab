#pragma once
#include <initializer_list>
#include <string_view>

#include "strata/ops/tensor.h"

namespace strata::ops {

// Parts that the families share. `name` is the operation in error messages.

/// One elementwise node over operands of one shape and one type (where: bool first).
Tensor op(Op op, std::initializer_list<Tensor> operands);
inline Tensor op(Op o, const Tensor& x) { return op(o, {x}); }
inline Tensor op(Op o, const Tensor& a, const Tensor& b) { return op(o, {a, b}); }
inline Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) {
    return op(Op::where, {condition, a, b});
}

/// The number everywhere, where x is placed; with x's shape and type, or with others.
Tensor like(const Tensor& x, Number value);
Tensor like(const Tensor& x, Number value, Shape shape, DType type);
Tensor as_tensor(const Operand& x);

/// A node with one tensor source of full shape.
Tensor node(Op op, const Tensor& x, Arg arg);
/// ReduceArg over sorted axes of a tensor that has no empty reduced axis; the axes stay with size 1.
Tensor reduce(const Tensor& x, Op op, std::vector<int> axes);

/// 0 .. n-1 along one axis; int32 where that holds n, else int64.
Tensor iota(int64_t n);
/// iota along axis `axis` of `shape`: sizes 1 elsewhere.
Tensor iota_along(const Shape& shape, int axis);

/// The device of both; Device error when they differ.
const runtime::Device* common_device(std::string_view name, const Tensor& a, const Tensor& b);

Shape broadcast_shapes(std::string_view name, const Shape& a, const Shape& b);
/// Like Tensor::expand to a shape known to fit.
Tensor expand_to(const Tensor& x, const Shape& shape);

/// 0-based axis; Shape error when it is not in [-ndim, ndim).
int axis_of(std::string_view name, int axis, int ndim);
/// 0-based and sorted; Usage error for an axis named twice.
std::vector<int> axes_of(std::string_view name, const Axes& axes, int ndim);

int64_t product(const Shape& shape);  ///< of a shape that check_shape let pass
/// Sizes that callers give meet in these: Shape error where 64 bits do not hold the result.
int64_t times(std::string_view name, int64_t a, int64_t b);
int64_t plus(std::string_view name, int64_t a, int64_t b);
void check_shape(std::string_view name, const Shape& shape);  ///< no negative sizes, and the product fits int64
void check_integer(std::string_view name, const Tensor& x);

/// Floats narrower than 32 bits and, when `floating`, integers and bool as float32.
Tensor widened(const Tensor& x, bool floating = true);
/// The signed integers that hold the bits of a float.
DType bits_of(DType type);
/// The type that all of them promote to.
DType common_type(std::initializer_list<Tensor> operands);
/// The type a floating function of x has: x's, or float32 for integers and bool.
DType floating_dtype(const Tensor& x);

}  // namespace strata::ops
