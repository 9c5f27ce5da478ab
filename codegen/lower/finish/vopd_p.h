#pragma once
#include "strata/asm/lint/access.h"
#include "strata/codegen/machine/machine.h"

namespace strata::codegen {

/// Makes dual instructions of vector instructions that stand near each other and do not need one another.
void form_vopd(const MachineFunction& function, std::vector<Instruction>& code);

}  // namespace strata::codegen
