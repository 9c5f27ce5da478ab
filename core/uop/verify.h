#pragma once
#include <span>

#include "strata/core/support/result.h"
#include "strata/core/uop/uop.h"

namespace strata {

// The rules for the graphs of each stage. An Error is Internal: it names the node, says what is wrong with it, and
// prints the tree below it.

/// A tensor-level graph: buffers, iota and constants below elementwise, movement, reduce, take, contiguous, custom and
/// pick.
Result<void> verify_tensor(UOp root);
/// The same of several: all their nodes.
Result<void> verify_tensors(std::span<const UOp> nodes);
/// One kernel over ranges (codegen/kernel/kernel.h). Memory is accessed through index nodes of params, and effects end
/// in the sink. Every range has an id of its own and is closed by an end or by reductions, and nothing uses it outside
/// of them.
Result<void> verify_kernel(UOp sink);
/// A kernel in order of execution (codegen/linear/linear.h). Sources come before users, loops nest, and no value leaves
/// the loop it is computed in. There is no index type, no reduction, and no axis that is not a loop.
Result<void> verify_linear(std::span<const UOp> ops);

}  // namespace strata
