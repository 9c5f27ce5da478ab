#pragma once
#include "strata/codegen/driver/compile_graph.h"
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// Makes parameters, from `first_slot` on, of the values of a kernel that change from call to call. They are its
/// numbers, and with any_sizes its sizes too.
codegen::TakenValues take_changing_values(UOp& sink, size_t first_slot);

}  // namespace strata::runtime
