#pragma once
#include <span>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Copies that an async_wait may leave in flight, where a chip counts copies and not groups: as many as its last groups
/// surely have. Those that a predicate may leave out do not count.
int copies_left_by(std::span<const UOp> ops, UOp wait);

}  // namespace strata::codegen
