#pragma once
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/executable/parameter.h"

namespace strata::codegen {

/// Outputs that may be written where an input is. Each element of that input is read by the thread that writes the same
/// element of the output, and before it does. `sink` is what build_kernel makes, which no action changes in this.
std::vector<executable::InPlace> in_place(UOp sink);

}  // namespace strata::codegen
