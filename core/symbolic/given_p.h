#pragma once
#include "strata/core/symbolic/linear_p.h"

namespace strata {

/// An index expression in a form that has its value wherever `condition` holds: quotients and remainders whose dividend
/// the condition's comparisons keep natural. The node itself where nothing is gained.
UOp simplify_given(UOp value, UOp condition);

}  // namespace strata
