#pragma once
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// Frees graph nodes that no tensor reaches, with the buffers, user kernels and remembered results that hang on them.
/// Does nothing inside a GraphScope.
void release_unreached();
void note_allocation(size_t bytes);

void forget_buffer(UOp buffer);
void forget_custom(UOp node);
void forget_result(UOp node);

/// The buffers of a custom node that has run: it does not run again for another of its results.
void remember_custom(uint64_t id, std::span<const UOp> views);
/// The view for one result of a custom node that has run, else empty.
UOp custom_view(UOp pick);

}  // namespace strata::runtime
