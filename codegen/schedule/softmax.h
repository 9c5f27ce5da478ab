#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Below expands and reshapes: of a value that is repeated along a row, the one element that it repeats.
UOp below_repeats(UOp u);
/// The value itself, below what no gradient goes through. Values that are recomputed stay apart.
UOp below_detached(UOp u);
/// x of where(|x| < infinity, x, c), which a softmax subtracts so that a row of infinities gives numbers; c is a
/// constant.
/// Empty: the value is something else. In tensor graphs the three may be repeated along a row.
UOp guarded_maximum(UOp u);
/// The value, 0 where it is not finite.
UOp where_finite(UOp x);

}  // namespace strata::codegen
