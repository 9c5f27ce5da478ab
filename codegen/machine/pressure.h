#pragma once
#include <array>
#include <vector>

#include "strata/codegen/machine/liveness.h"

namespace strata::codegen {

/// Registers of each bank.
using Pressure = std::array<int, 3>;

/// How many dwords are live at each position of a function.
class PressureMap {
  public:
    PressureMap(const MachineFunction& function, const Liveness& liveness);
    const Pressure& at(uint32_t position) const { return at_[position]; }
    Pressure most(Segment positions) const;

  private:
    std::vector<Pressure> at_;
};

/// The registers that may be live at a time so that as many waves run beside each other as with `peak`. It is a wave's
/// share of the file at that occupancy, less the gaps that tuples may leave.
Pressure pressure_limits(const MachineFunction& function, const Pressure& peak);

}  // namespace strata::codegen
