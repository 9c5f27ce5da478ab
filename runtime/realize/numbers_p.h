#pragma once
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/launch_plan.h"

namespace strata::runtime {

struct ChangingValues {
    std::vector<LaunchNumber> numbers;
    bool sizes = false;  ///< the kernel serves other sizes too: it is not the one that it was
};
/// Makes parameters, from `first_slot` on, of the values of a kernel that change from call to call: of its numbers,
/// with any_sizes of its sizes too.
ChangingValues take_changing_values(UOp& sink, size_t first_slot);

}  // namespace strata::runtime
