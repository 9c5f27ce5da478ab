#pragma once
#include <string>

#include "strata/asm/emu/machine/workgroup.h"

namespace strata::emu {

/// What a wave that ran out of its instruction budget did.
std::string over_budget(uint64_t executed);
/// What the waves of a launch did that together ran out of theirs.
std::string over_launch_budget(uint64_t budget);

/// The whole message of a stopped wave: kernel, pc, disassembly, workgroup, wave, what happened.
std::string fault_message(const Wave& wave);

}  // namespace strata::emu
