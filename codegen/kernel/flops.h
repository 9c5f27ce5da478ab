#pragma once
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Floating-point operations of one run of the kernel, from its loops.
uint64_t count_flops(UOp sink);

/// Nodes with a copy for each step of what is unrolled: how long the kernel takes to compile, roughly.
uint64_t count_unrolled(UOp sink);

}  // namespace strata::codegen
