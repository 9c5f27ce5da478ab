#pragma once
#include "strata/codegen/kernel/kernel.h"

namespace strata::codegen {

// A kernel may end with another one, its finish, which the block of its grid that comes last computes once all others
//   are done: sink <- end( ... ), sink <- end( ... )
// They share params alone. Ranges of the finish have ids from kFirstFinishId on.
constexpr int kFirstFinishId = 1 << 20;

UOp finish_of(UOp sink);       ///< its sink; empty: there is none
UOp without_finish(UOp sink);  ///< what all blocks compute
UOp with_finish(UOp sink, UOp finish);
Kernel without_finish(const Kernel& kernel);
Kernel with_finish(Kernel kernel, UOp finish);

/// The kernel of both, whose params stand for the same buffers where these do.
struct BoundKernel;
BoundKernel finished(const BoundKernel& first, const BoundKernel& finish);

}  // namespace strata::codegen
