#pragma once
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// Frees graph nodes that no tensor reaches, with the buffers, user kernels and remembered results that hang on them.
/// Does nothing inside a GraphScope.
void release_unreached();
void note_allocation(size_t bytes);

void forget_buffer(UOp buffer);
void forget_custom(uint64_t id);
void forget_result(UOp node);

}  // namespace strata::runtime
