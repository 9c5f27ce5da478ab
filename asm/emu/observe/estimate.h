#pragma once
#include <span>
#include <vector>

#include "strata/asm/emu/observe/group_timing.h"
#include "strata/asm/emu/observe/model.h"
#include "strata/asm/emu/profile.h"

namespace strata::emu {

/// Shape of a launch as far as occupancy is concerned.
struct Occupancy {
    uint64_t groups = 1;
    uint32_t waves = 1, lds = 0;
    int vgprs = 0, sgprs = 0, wave_size = 32;  ///< sgprs: allocated, 0 where no wave takes them from another
    bool last_waits = false;  ///< the last workgroup that was measured goes on when all others are done
};
/// Workgroups that a compute unit holds at once: at least one.
int groups_on_unit(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape);
Residency residency(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape);
/// The memory that a launch of `count` workgroups used, from the measured ones.
std::vector<Use> uses(const Model& model, std::span<const GroupTiming> groups, uint64_t count);
/// The factor from the sum over measured workgroups to one workgroup of `of_group` instructions.
double share_of(std::span<const GroupTiming> groups, double of_group);
/// Cycles of the whole launch, from the demands of its measured workgroups. of_group: instructions of a workgroup, on
/// average of all that ran. Demands of the measured workgroups are scaled by that average over their own instructions.
Estimate estimate(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                  const std::vector<GroupTiming>& groups, double of_group);
/// The same with all that the workgroups, which gathered it, know beside.
LaunchProfile profile(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                      const std::vector<GroupTiming>& groups, double of_group, const Program& program);

}  // namespace strata::emu
