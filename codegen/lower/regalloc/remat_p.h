#pragma once
#include <vector>

#include "strata/codegen/machine/liveness.h"

namespace strata::codegen {

/// What makes a register's value anew wherever it is read, nullptr where nothing does: one cheap instruction, from
/// registers that hold one value each while the kernel runs and are live there in any case. It leaves SCC alone where
/// that is in use.
std::vector<const Instruction*> rematerialisations(const MachineFunction& function, const Liveness& live);

}  // namespace strata::codegen
