#pragma once
#include <optional>
#include <span>

#include "strata/core/uop/uop.h"

namespace strata {

/// The value of an elementwise or machine op on scalars. `type` is the result's element type. `source` is the type of
/// the last source (where a cast comes from, what a comparison compares). Empty where the op has no value: a shift by
/// the width or more, or an op that the type lacks (sqrt of an integer).
std::optional<ConstArg> reference(Op op, DType type, DType source, std::span<const ConstArg> values);

/// The constant that an elementwise node with constant sources stands for; empty for any other node.
UOp fold(UOp node);

}  // namespace strata
