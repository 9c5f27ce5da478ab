#pragma once
#include <vector>

#include "strata/codegen/machine/liveness.h"
#include "strata/codegen/machine/register_limits.h"

namespace strata::codegen {

/// Gives registers their places, in order of where they begin. A register gets the lowest place whose dwords are free
/// where it is live. The place of a register that it is copied from or to comes before others. Lane masks of one block
/// get VCC. Where there is none, registers of less use for their length give way. Those without a place at the end are
/// returned. `kept` registers never give way.
std::vector<uint32_t> assign(MachineFunction& function, const Liveness& liveness, const RegisterLimits& limits,
                             const std::vector<bool>& kept);

}  // namespace strata::codegen
