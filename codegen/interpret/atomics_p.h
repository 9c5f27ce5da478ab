#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The value of a place after an atomic of its type, which held `old` before. `expected` is of compare_exchange alone.
ConstArg after_atomic(AtomicOp operation, DType type, const ConstArg& old, const ConstArg& value,
                      const ConstArg& expected);

}  // namespace strata::codegen
