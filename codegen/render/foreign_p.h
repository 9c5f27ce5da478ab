#pragma once
#include <string>
#include <vector>

#include "strata/codegen/linear/linear.h"
#include "strata/codegen/render/expression_p.h"
#include "strata/core/uop/uop_map.h"

// Texts of the user's in HIP text.
namespace strata::codegen {

/// Sources whose functions the kernel calls (lang.extern), each once, also where several kernels become one file.
std::string foreign_sources(const LinearProgram& program);
/// Statements that define `name` as the result of an Op::foreign.
std::vector<std::string> spell_foreign(UOp u, const std::string& name, const UOpMap<Expression>& values,
                                       const Target& target);
/// Of one of several results.
std::string result_name(std::string_view name, int i);

}  // namespace strata::codegen
