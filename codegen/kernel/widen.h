#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The sink with a longer range in place of one: loads, stores and checks of indices beyond its size are masked, reductions see
/// their identity there.
UOp widen_range(UOp sink, UOp range, UOp wide);

/// The sink with a range as `value` in expressions, closed as `parts`.
UOp replace_range(UOp sink, UOp range, UOp value, std::span<const UOp> parts);

}  // namespace strata::codegen
