#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A row of a table of passes.
struct PassName {
    std::string_view name, invariant;  ///< what holds after it
};
std::vector<PassName> linear_passes();
/// The number of the last row with this name. Error (Usage) lists those there are.
Result<size_t> number_of_pass(std::span<const PassName> passes, std::string_view name);

/// A kernel's graph as text after each pass of linearize, in order.
struct GraphAfter {
    std::string_view pass;
    std::string text;
};
Result<std::vector<GraphAfter>> graphs_by_pass(const Kernel& kernel, const Target& target);

/// A kernel's graph after some passes of linearize, in the order in which they are named; nothing else is done to it.
/// Error (Usage) lists the passes where there is none of a name.
Result<UOp> run_passes(UOp sink, std::span<const std::string> names, const Target& target);

}  // namespace strata::codegen
