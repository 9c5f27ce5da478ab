#pragma once
#include "strata/codegen/lower/machine.h"

namespace strata::codegen {

/// Puts the places of registers into the operands of all instructions; copies become moves, or nothing.
void resolve(MachineFunction& function);

/// An instruction whose operands have the types of their row.
Instruction make_instruction(const MachineFunction& function, std::string_view mnemonic);

}  // namespace strata::codegen
