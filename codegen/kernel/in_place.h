#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Slots of an output and of an input of a kernel.
struct InPlace {
    int output, input;
};

/// Outputs that may be written where an input is: each element of that input is read by the thread that writes the same element
/// of the output, and before it does. `sink` is what build_kernel makes, which no action changes in this.
std::vector<InPlace> in_place(UOp sink);

}  // namespace strata::codegen
