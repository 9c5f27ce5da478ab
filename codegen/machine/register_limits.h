#pragma once
#include <algorithm>

#include "strata/codegen/machine/machine.h"

namespace strata::codegen {

/// Registers that a wave may have such that a workgroup of the program fits the machine.
struct RegisterLimits {
    int sgprs = 0;
    int vgprs = 0;  ///< of v0 and on
    int agprs = 0;  ///< of a0 and on
    int total = 0;  ///< rows of the file that both share
    int file = 0;   ///< rows of one vector unit's file
    int granule = 1, most_waves = 1;

    /// Rows that a wave may have while as many run beside each other as with `rows`.
    int share_beside(int rows) const {
        const int taken = std::max((rows + granule - 1) / granule * granule, granule);
        return file / std::max(file / taken, 1) / granule * granule;
    }
    /// Rows that leave place for as many waves as the unit takes.
    int share_of_most_waves() const { return file / most_waves / granule * granule; }
};
/// Registers that may stay empty between tuples.
inline constexpr int kTupleSlack = 4;

RegisterLimits register_limits(const MachineFunction& function);

}  // namespace strata::codegen
