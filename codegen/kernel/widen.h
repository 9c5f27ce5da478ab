#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// True if a value changes from step to step of a range: some of it is inside of what closes that.
bool moves_with(UOp u, UOp range);

/// The sink with a longer range in place of one. Loads, stores and checks of indices beyond its size are masked, and
/// reductions see their identity there. `size`: a number of a launch in place of the range's size.
UOp widen_range(UOp sink, UOp range, UOp wide, UOp size = {});

/// The sink with a range as `value` in expressions, closed as `parts`.
UOp replace_range(UOp sink, UOp range, UOp value, std::span<const UOp> parts);

}  // namespace strata::codegen
