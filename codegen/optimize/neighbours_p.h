#pragma once
#include <vector>

#include "strata/codegen/optimize/schedules_p.h"

namespace strata::codegen {

/// Schedules that differ from one in a single action. It is left out, has half or twice its amount, or is added, with
/// the least amount, in front of the last. Actions after a change may no longer fit; such schedules are left out.
std::vector<Scheduled> neighbours(Schedules& schedules, const std::vector<Action>& actions);

}  // namespace strata::codegen
