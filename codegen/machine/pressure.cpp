#include "strata/codegen/machine/pressure.h"

#include <algorithm>

#include "strata/codegen/machine/register_limits.h"

namespace strata::codegen {

PressureMap::PressureMap(const MachineFunction& function, const Liveness& liveness)
    : at_(2 * liveness.instructions() + 2) {
    for (uint32_t reg = 0; reg < function.registers.size(); ++reg) {
        const auto bank = static_cast<size_t>(function.registers[reg].bank);
        for (uint32_t i = 0; i < function.registers[reg].dwords; ++i)
            for (Segment segment : liveness.segments(liveness.unit(reg, i))) {
                ++at_[segment.begin][bank];
                --at_[segment.end][bank];
            }
    }
    for (size_t i = 1; i < at_.size(); ++i)
        for (size_t bank = 0; bank < 3; ++bank) at_[i][bank] += at_[i - 1][bank];
}

Pressure PressureMap::most(Segment positions) const {
    Pressure most{};
    for (uint32_t i = positions.begin; i < positions.end; ++i)
        for (size_t bank = 0; bank < 3; ++bank) most[bank] = std::max(most[bank], at_[i][bank]);
    return most;
}

Pressure pressure_limits(const MachineFunction& function, const Pressure& peak) {
    const RegisterLimits limits = register_limits(function);
    const int vectors = peak[1] + peak[2] + kTupleSlack;
    const int share = std::max(limits.share_beside(vectors), limits.share_of_most_waves());
    const int both = std::min(share, limits.total) - kTupleSlack;
    return {limits.sgprs - kTupleSlack, std::min(both - peak[2], limits.vgprs - kTupleSlack),
            std::min(both, limits.agprs)};
}

}  // namespace strata::codegen
