#pragma once
#include "strata/core/uop/reference.h"

namespace strata {

/// The value of a machine op of ops.def on scalars, as `reference` gives it.
std::optional<ConstArg> machine_value(Op op, DType type, DType source, std::span<const ConstArg> values);

}  // namespace strata
