#pragma once
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/machine/machine.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// Instruction selection: a linear program as code over virtual registers.
Result<MachineFunction> select(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
