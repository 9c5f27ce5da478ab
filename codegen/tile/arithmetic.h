#pragma once
#include "strata/core/uop/uop.h"

// Arithmetic of the kernel language: Python's, over nodes of types that promote as tensors' do. Numbers of the index
// type do not wrap.

namespace strata::lang {

/// The type of an operation between two values. DType error where there is none.
DType promoted(std::string_view operation, DType a, DType b);
/// As an assignment converts: an index to any integer or float, bool to 0 and 1.
UOp converted(UOp x, DType type);
/// An index as int32, as int64 where its bounds need that; other values as they are.
UOp machine_value(UOp x);

// Both sides have one type.
UOp floor_divided(UOp a, UOp b);  ///< integers; of proven signs one division
UOp floor_remainder(UOp a, UOp b);
UOp less(UOp a, UOp b);
UOp less_or_equal(UOp a, UOp b);
UOp is_true(UOp x);  ///< x != 0

}  // namespace strata::lang
