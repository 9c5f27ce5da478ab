#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Floating-point operations of one run of the kernel, from its loops.
uint64_t count_flops(UOp sink);

}  // namespace strata::codegen
