#pragma once
#include <string>

#include "strata/core/uop/uop.h"

namespace strata {

enum class Level : uint8_t { tensor = 1, kernel = 2, linear = 4 };

/// What is wrong with a node by itself and in view of its sources; empty when nothing is.
std::string node_fault(UOp u, Level level);

}  // namespace strata
