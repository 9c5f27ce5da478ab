#pragma once
#include "strata/codegen/lower/machine.h"

namespace strata::codegen {

/// Registers that a wave may have such that a workgroup of the program fits the machine.
struct RegisterLimits {
    int sgprs = 0;
    int vgprs = 0;  ///< of v0 and on
    int agprs = 0;  ///< of a0 and on
    int total = 0;  ///< rows of the file that both share
};
RegisterLimits register_limits(const MachineFunction& function);

}  // namespace strata::codegen
