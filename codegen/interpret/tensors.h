#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "strata/codegen/interpret/tensor_value.h"

namespace strata::codegen {

/// Buffers and users' kernels, which tensor graphs take from outside of them.
struct TensorSources {
    /// The content of a buffer.
    std::function<TensorValue(UOp buffer)> read = {};
    /// Runs a user's kernel over the values of the sources of a custom node; gives what it leaves in each.
    std::function<std::vector<TensorValue>(UOp custom, std::span<const TensorValue> sources)> call = {};
};

/// The values of tensor graphs as ops.def says, rounded at each node. A sum is rounded once, to its type. No code is
/// shared with what compiles them. Throws MemoryFault where an index is outside of its axis, Unsupported for an op that
/// is none of tensors.
std::vector<TensorValue> interpret_tensors(std::span<const UOp> roots, const TensorSources& sources);

}  // namespace strata::codegen
