#pragma once
#include <string>

#include "strata/core/uop/node.h"

namespace strata {

/// What is wrong with a node by itself and in view of its sources; empty when nothing is.
std::string node_fault(UOp u, Level level);

}  // namespace strata
