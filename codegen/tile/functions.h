#pragma once
#include <span>
#include <string_view>

#include "strata/core/uop/uop.h"

namespace strata::lang {

// Functions that no op of ops.def is, of float32 and float64; narrower floats are computed as float32.

UOp cbrt(UOp x);
UOp erfc(UOp x);  ///< exact in its tail, where 1 - erf(x) has no digits

/// A function by the chip's own instructions: a row of fast_functions.def.
struct FastFunction {
    std::string_view name;
    UOp (*value)(UOp x, UOp y);
    double relative, relative_of_x, absolute, absolute_of_x;  ///< bounds, in units of 2^-23
};
std::span<const FastFunction> fast_functions();
/// The value of x, and of y where the function takes two. Narrower floats are computed as float32. Errors: Unsupported
/// where there is no such row, which lists those there are; DType for float64.
UOp fast(std::string_view name, UOp x, UOp y = {});
/// Null for any that has no row.
const FastFunction* find_fast(std::string_view name);

}  // namespace strata::lang
