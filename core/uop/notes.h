#pragma once
#include "strata/core/uop/node.h"

namespace strata {

// Facts found out about a node, which hold for as long as there is one.

/// simplify leaves it, and all that it reaches, as it is.
bool is_known_simple(UOp u);
void note_simple(UOp u);

}  // namespace strata
