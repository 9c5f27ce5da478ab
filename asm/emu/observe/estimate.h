#pragma once
#include <vector>

#include "strata/asm/emu/observe/group_timing.h"
#include "strata/asm/emu/observe/model.h"

namespace strata::emu {

/// Shape of a launch as far as occupancy is concerned.
struct Occupancy {
    uint64_t groups = 1;
    uint32_t waves = 1, lds = 0;
    int vgprs = 0, wave_size = 32;
    bool wgp_mode = true;
};
/// Workgroups that the whole card holds at once.
uint64_t groups_at_once(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape);
/// Cycles of the whole launch, from the demands of its measured workgroups.
double estimate_cycles(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                       const std::vector<GroupTiming>& groups);

}  // namespace strata::emu
