#pragma once
#include <optional>

#include "strata/codegen/optimize/action.h"

namespace strata::codegen {

/// A schedule of a kernel with an online sum; nothing for others.
std::optional<Scheduled> online_schedule(const Kernel& kernel, const Target& target);

}  // namespace strata::codegen
