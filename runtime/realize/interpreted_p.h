#pragma once
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// Computes graphs on a device that interprets them; for each, a view of memory that holds its value. In a GraphScope.
std::vector<Root> interpreted(std::span<const UOp> roots, Device& device);

/// The users' kernels that graphs are to run there, sources before users.
std::vector<UOp> interpreted_calls(std::span<const UOp> roots, Device& device);

}  // namespace strata::runtime
