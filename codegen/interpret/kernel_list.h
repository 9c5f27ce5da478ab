#pragma once
#include <vector>

#include "strata/codegen/interpret/interpret.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// A kernel over ranges as interpret() takes it: no pass of codegen/linear has seen it.
struct KernelList {
    UOp sink;                  ///< the kernel, each of its loops closed by one node
    std::vector<UOp> ops;      ///< in order of execution
    InterpretedLaunch launch;  ///< its grid, its block, and which of them each range is
};

/// Ranges of the grid and of threads that an end closes become coordinates; all others are loops, one after the other
/// those of reductions too. Error (Usage): loops that do not nest.
Result<KernelList> list_kernel(UOp sink);

}  // namespace strata::codegen
