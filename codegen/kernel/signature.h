#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Tensor graphs without the identity of their memory and numbers. The rest is written to `form`, so that equal forms
/// are equal graphs over buffers and numbers by position.
struct Signature {
    std::string form;
    std::vector<UOp> buffers;  ///< each once, in the order that the graph reads them
    std::vector<UOp> numbers;  ///< constants that can as well be parameters of kernels; the form holds the others
    std::vector<UOp> calls;    ///< of users' kernels, which are no part of the form, sources before users
};

/// A view of memory that holds a node's value already, or empty; of nodes other than buffers and constants.
using InMemory = std::function<UOp(UOp)>;

Signature signature_of(std::span<const UOp> roots, const InMemory& in_memory);
/// The same of what a kernel computes: nothing is in memory but buffers, and the form holds every number.
Signature signature_of_bodies(std::span<const UOp> bodies);

}  // namespace strata::codegen
