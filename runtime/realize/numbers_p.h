#pragma once
#include "strata/codegen/driver/compile_graph.h"
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// Makes parameters, from `first_slot` on, of the values of a kernel that change from call to call: of its numbers,
/// with any_sizes of its sizes too.
codegen::TakenValues take_changing_values(UOp& sink, size_t first_slot);

}  // namespace strata::runtime
