#pragma once
#include "strata/codegen/machine/machine.h"

namespace strata::codegen {

/// Puts the places of registers into the operands of all instructions; copies become moves, or nothing.
void resolve(MachineFunction& function);

}  // namespace strata::codegen
