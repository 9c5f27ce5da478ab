#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/linear/linear.h"
#include "strata/codegen/linear/opt.h"
#include "strata/codegen/lower/lower.h"

namespace strata::codegen {

std::vector<PassName> lowering_passes();  ///< of lower(), in order

/// Instructions after selection and all passes up to one, or the last of that name. Error (Usage) lists those there
/// are.
Result<std::string> lowered_until(const LinearProgram& program, const Target& target, std::string_view pass);

/// Instructions after selection and after each pass, in order.
Result<std::vector<Stage>> instructions_by_pass(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
