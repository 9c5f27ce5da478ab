#pragma once
#include <string>

#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// The statement of an op that orders others: fences, waits, groups of copies, hints to the scheduler. "": the target
/// needs none.
std::string order_text(UOp u, const LinearProgram& program, const Target& target);

/// The end of the names of an access's functions by its cache policy; "" for a plain access.
std::string cache_function(UOp index, const Target& target);

}  // namespace strata::codegen
