#pragma once
#include <string>
#include <vector>

#include "strata/codegen/lower/lower.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {

/// The error (Internal) names the first instruction that breaks what `check` promises.
Result<void> verify(const MachineFunction& function, Check check);

/// Finished code as words, with lines that lead back to the linear program, and as text.
Result<Lowered> emit(const MachineFunction& function, Text text = Text::yes);

/// The operations of a program as text: line N of a code object's line table is the Nth, from 1.
std::vector<std::string> listing(const LinearProgram& program);
/// Names of kernel arguments by slot: out0, in1.
std::vector<std::string> parameter_names(const LinearProgram& program);

}  // namespace strata::codegen
