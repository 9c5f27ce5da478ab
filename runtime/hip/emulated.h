#pragma once
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/runtime/hip/report.h"

namespace strata::hip {

/// LaunchReport::details of an emulated device.
struct LaunchDetails {
    std::vector<emu::InstructionUse> instructions;  ///< with settings().emu_fidelity: of the kernel, how often each ran
    std::vector<CheckFinding> findings;             ///< with settings().check
};

}  // namespace strata::hip
