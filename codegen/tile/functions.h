#pragma once
#include "strata/core/uop/uop.h"

namespace strata::lang {

// Functions that no op of ops.def is, of float32 and float64; narrower floats are computed as float32.

UOp cbrt(UOp x);
UOp erfc(UOp x);  ///< exact in its tail, where 1 - erf(x) has no digits

}  // namespace strata::lang
