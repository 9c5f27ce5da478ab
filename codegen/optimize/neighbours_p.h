#pragma once
#include <vector>

#include "strata/codegen/optimize/schedules_p.h"

namespace strata::codegen {

/// Schedules that differ from one in a single action: it is left out, has half or twice its amount, or stands anew,
/// with the least amount, in front of the last.
/// What actions after it make of the change is theirs to say: those that no longer fit are none.
std::vector<Scheduled> neighbours(Schedules& schedules, const std::vector<Action>& actions);

}  // namespace strata::codegen
