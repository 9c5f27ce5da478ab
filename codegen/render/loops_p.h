#pragma once
#include <span>

#include "strata/core/uop/uop.h"
#include "strata/core/uop/uop_map.h"

namespace strata::codegen {

/// The last load of each loop, among those that a step does for the next one.
UOpMap<bool> last_fetches(std::span<const UOp> ops);
/// Innermost loops over values in local memory. NVRTC leaves as they are those whose steps are long; loads then wait at
/// the start of each.
UOpMap<bool> loops_of_short_steps(std::span<const UOp> ops);

}  // namespace strata::codegen
