#pragma once
#include <string>
#include <string_view>

#include "strata/core/support/result.h"
#include "strata/core/uop/node.h"

namespace strata {

/// The kernel whose tree() the text is: its last line is the root. Error (Usage) names the line and what is wrong with
/// it. Graphs of tensors have memory that no text holds, and are refused.
Result<UOp> parse_tree(std::string_view text);

/// The argument whose text to_string(arg, dtype) gives.
Result<Arg> parse_arg(Op op, DType dtype, std::string_view text);

}  // namespace strata
