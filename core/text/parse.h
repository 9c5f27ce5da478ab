#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"
#include "strata/core/uop/node.h"

namespace strata {

/// The kernel whose tree() the text is: its last line is the root. Error (Usage) names the line and what is wrong with
/// it. Graphs of tensors have memory that no text holds, and are refused.
Result<UOp> parse_tree(std::string_view text);

/// The nodes of a tensor graph by line, each as a line of a kernel, without its shape. A buffer "#3 size=64" is a
/// stand-in of number 3, without memory. Error (Usage) as parse_tree; users' kernels are refused, which no text holds.
Result<std::vector<UOp>> parse_tensors(std::string_view text);
/// That stand-in: on no device.
UOp stand_in(uint64_t number, DType dtype, int64_t size);

/// The argument whose text to_string(arg, dtype) gives.
Result<Arg> parse_arg(Op op, DType dtype, std::string_view text);

}  // namespace strata
