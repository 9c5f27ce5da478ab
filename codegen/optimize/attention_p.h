#pragma once
#include <optional>

#include "strata/codegen/optimize/action.h"

namespace strata::codegen {

/// A schedule of a kernel with attention; nothing for others.
std::optional<Scheduled> attention_schedule(const Kernel& kernel, const Target& target);

/// Such a kernel with its products by matrix instructions, by the tile of that number among those that fit; nothing
/// where none does.
std::optional<Kernel> attention_by_matrices(const Kernel& kernel, UOp keys, int64_t amount, const Target& target);

}  // namespace strata::codegen
