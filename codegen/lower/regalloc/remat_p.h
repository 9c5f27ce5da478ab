#pragma once
#include <vector>

#include "strata/codegen/machine/liveness.h"

namespace strata::codegen {

/// The instruction that recomputes a register's value wherever it is read, or nullptr. It is one cheap instruction,
/// from registers that hold one value each while the kernel runs and are live there in any case. It leaves SCC alone
/// where that is in use.
std::vector<const Instruction*> rematerialisations(const MachineFunction& function, const Liveness& live);

}  // namespace strata::codegen
