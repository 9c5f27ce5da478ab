#pragma once
#include <vector>

#include "strata/asm/emu/fidelity.h"

namespace strata::hip {

/// LaunchReport::details of an emulated device, with settings().emu_fidelity: the kernel's instructions, with how often
/// each ran.
using InstructionUses = std::vector<emu::InstructionUse>;

}  // namespace strata::hip
