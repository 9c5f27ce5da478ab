#pragma once
#include "strata/asm/lint/access.h"
#include "strata/codegen/lower/machine.h"

namespace strata::codegen {

/// Makes dual instructions of vector instructions that stand near each other and do not need one another.
void pair_instructions(const MachineFunction& function, std::vector<Instruction>& code);

}  // namespace strata::codegen
