#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// What is added to `value` when the range steps on; empty where that depends on the step.
UOp slope(UOp value, UOp range);

/// The steps of a range after which a condition is never again what is wanted, in no thread of a block; empty where they are not
/// known.
UOp steps_while(UOp condition, bool wanted, UOp range);

}  // namespace strata::codegen
