#pragma once
#include "strata/core/uop/node.h"

namespace strata {

// Builders that work out the result type.

UOp constant(DType dtype, double value);  ///< rounded or wrapped to the type
UOp constant_int(DType dtype, int64_t value);
UOp index_const(int64_t value);
/// The start of a reduction by add, mul, max or min: 0, 1, or the type's smallest or largest value or infinity.
UOp identity(Op op, DType type);
UOp alu(Op op, std::initializer_list<UOp> sources);  ///< any elementwise op except cast and bitcast
UOp alu(Op op, std::span<const UOp> sources);
UOp cast(UOp x, DType to);
UOp bitcast(UOp x, DType to);
double const_value(UOp constant);  ///< as double
int64_t const_int(UOp constant);

// Operators build index arithmetic and rules: both sides have one dtype.
inline UOp operator+(UOp a, UOp b) { return alu(Op::add, {a, b}); }
inline UOp operator-(UOp a, UOp b) { return alu(Op::sub, {a, b}); }
inline UOp operator*(UOp a, UOp b) { return alu(Op::mul, {a, b}); }
inline UOp operator/(UOp a, UOp b) { return alu(a.dtype().is_float() ? Op::fdiv : Op::idiv, {a, b}); }
inline UOp operator%(UOp a, UOp b) { return alu(Op::mod, {a, b}); }
inline UOp operator<(UOp a, UOp b) { return alu(Op::cmplt, {a, b}); }
UOp operator+(UOp a, int64_t b);
UOp operator-(UOp a, int64_t b);
UOp operator*(UOp a, int64_t b);
UOp operator/(UOp a, int64_t b);
UOp operator%(UOp a, int64_t b);
UOp operator<(UOp a, int64_t b);

}  // namespace strata
