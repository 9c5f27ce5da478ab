#pragma once
#include <functional>

#include "strata/codegen/machine/machine.h"

namespace strata::codegen {

/// Orders the instructions of each block by its groups (Op::schedule), which then have numbers. Their barriers go
/// away. `movable`: the instructions in front of a block's end.
void form_schedule_groups(MachineFunction& function, const std::function<uint32_t(const Block&)>& movable);

}  // namespace strata::codegen
