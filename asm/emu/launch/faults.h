#pragma once
#include <string>

#include "strata/asm/emu/machine/workgroup.h"

namespace strata::emu {

/// The message for a wave that used up its instruction budget.
std::string over_budget(uint64_t executed);
/// The message for a launch whose waves together used up its instruction budget.
std::string over_launch_budget(uint64_t budget);

/// The whole message of a stopped wave: kernel, pc, disassembly, workgroup, wave, what happened.
std::string fault_message(const Wave& wave);

}  // namespace strata::emu
