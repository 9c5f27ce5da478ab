#include <algorithm>
#include <map>

#include "strata/asm/emu/observe/estimate.h"

// From what measured workgroups gathered to the profile of a launch.
namespace strata::emu {
namespace {

/// Different bytes that all workgroups read, and those that they write: of each allocation at most all of it.
double least_bytes(const std::vector<GroupTiming>& groups, double count) {
    std::map<std::pair<uint64_t, uint64_t>, std::array<double, 2>> of_allocation;
    for (const GroupTiming& group : groups) {
        const std::vector<std::array<double, 2>> bytes = group.profile()->distinct_bytes(group.touched().size());
        for (size_t i = 0; i < bytes.size(); ++i)
            for (size_t way = 0; way < 2; ++way)
                of_allocation[group.touched()[i]][way] += bytes[i][way] * group.scale();
    }
    double least = 0;
    for (const auto& [allocation, bytes] : of_allocation)
        for (double of_measured : bytes)
            least += std::min(of_measured * count / static_cast<double>(groups.size()),
                              static_cast<double>(allocation.second));
    return least;
}

std::vector<InstructionProfile> instructions(const std::vector<GroupTiming>& groups, const Program& program) {
    std::map<uint64_t, InstructionProfile> by_pc;
    std::map<uint64_t, double> longest;
    for (const GroupTiming& group : groups)
        for (const auto& [op, of_op] : group.profile()->ops()) {
            const uint64_t pc = program.pc(op);
            InstructionProfile& one = by_pc[pc];
            one.pc = pc;
            one.runs += of_op.runs;
            one.stalled += of_op.stalled;
            one.lines += of_op.lines;
            one.conflicts += of_op.conflicts;
            const uint64_t waited_for = of_op.waited_for ? program.pc(of_op.waited_for) : InstructionProfile::kNobody;
            double& known = longest[pc];
            if (of_op.longest > known || (of_op.longest == known && waited_for < one.waited_for))
                known = of_op.longest, one.waited_for = waited_for;
        }
    std::vector<InstructionProfile> out;
    for (const auto& [pc, one] : by_pc) out.push_back(one);
    return out;
}

std::vector<WaveSpan> spans(const GroupProfile& group, const Program& program) {
    std::vector<WaveSpan> out;
    for (const GroupProfile::Span& span : group.spans()) {
        WaveSpan& wave = out.emplace_back(WaveSpan{span.end, {}});
        for (const GroupProfile::Stall& stall : span.stalls)
            wave.stalls.push_back({stall.from, stall.to, program.pc(stall.op)});
    }
    return out;
}

}  // namespace

LaunchProfile profile(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                      const std::vector<GroupTiming>& groups, double of_group, const Program& program) {
    LaunchProfile out;
    out.model = model.name;
    out.mhz = model.mhz;
    out.estimate = estimate(model, arch, shape, groups, of_group);
    out.residency = residency(model, arch, shape);
    out.groups = shape.groups;
    out.measured = groups.size();
    out.waves = shape.waves;
    out.lds = shape.lds;
    out.least_bytes = least_bytes(groups, static_cast<double>(shape.groups));
    for (const GroupTiming& group : groups) {
        out.local_cycles += group.demand().local / static_cast<double>(groups.size());
        out.local_conflicts += group.demand().conflicts / static_cast<double>(groups.size());
    }
    out.instructions = instructions(groups, program);
    out.waves_of_first = spans(*groups.front().profile(), program);
    return out;
}

}  // namespace strata::emu
