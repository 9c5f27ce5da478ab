#pragma once
#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// Rewrites the values of a linear program to operations that machine instructions do. functions.def says what becomes
/// what, and how exact that is. Left are, on scalars,
///   float16, float32, float64: add sub mul fma neg abs max min floor ceil trunc rint, comparisons, where;
///   int32, uint32, int64, uint64: add sub mul bit_and bit_or bit_xor bit_not shl shr, comparisons, where; max and min
///     of 32 bits; machine ops of ops.def; a product of two uint64 that are casts of uint32 is one of 32 by 32 bits;
///   bool: bit_and bit_or bit_xor logical_not where freeze;
///   casts: float32 to and from float16, float64, int32, uint32; float64 to and from int32, uint32; integers of all
///     widths among each other; casts that the arch has an instruction for (native_casts.def); bitcast, where and
///     memory operations of every type; bounded of 32 and 64 bit integers.
/// A sum contracts with the product that it adds to one fma, as clang does for HIP. Later stages contract nothing: they
/// keep the rounding of each operation.
LinearProgram decompose(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
