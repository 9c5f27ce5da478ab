#pragma once
#include <string>

#include "strata/core/uop/node.h"

namespace strata {

/// The fault of a node by itself and in view of its sources; empty when there is none.
std::string node_fault(UOp u, Level level);

}  // namespace strata
