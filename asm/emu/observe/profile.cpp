#include <algorithm>
#include <map>

#include "strata/asm/emu/observe/estimate.h"

// From what measured workgroups gathered to the profile of a launch.
namespace strata::emu {
namespace {

/// Different bytes that `count` workgroups read, and those that they write: of each allocation at most all of it.
double least_bytes(const std::vector<GroupTiming>& groups, double count, double of_group) {
    std::map<uint64_t, std::array<double, 2>> of_allocation;
    std::map<uint64_t, double> sizes;
    for (const GroupTiming& group : groups) {
        const std::vector<std::array<double, 2>> bytes = group.profile()->distinct_bytes(group.touched().size());
        for (size_t i = 0; i < bytes.size(); ++i) {
            const Touched& touched = group.touched()[i];
            sizes[touched.low] = static_cast<double>(touched.size);
            for (size_t way = 0; way < 2; ++way) of_allocation[touched.low][way] += bytes[i][way];
        }
    }
    const double share = share_of(groups, of_group) * count;
    double least = 0;
    for (const auto& [low, bytes] : of_allocation)
        for (double of_measured : bytes) least += std::min(of_measured * share, sizes[low]);
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
            const Chunk* const chunk = program.chunk(op);
            const double times = group.times({chunk, static_cast<size_t>(op - chunk->ops.data())});
            one.runs += static_cast<uint64_t>(static_cast<double>(of_op.runs) * times + 0.5);
            one.stalled += of_op.stalled * times;
            one.lines += of_op.lines * times;
            one.conflicts += of_op.conflicts * times;
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
    out.least_bytes = least_bytes(groups, static_cast<double>(shape.groups), of_group);
    for (const GroupTiming& group : groups) {
        out.local_cycles += group.demand().local / static_cast<double>(groups.size());
        out.local_conflicts += group.demand().conflicts / static_cast<double>(groups.size());
    }
    out.instructions = instructions(groups, program);
    out.waves_of_first = spans(*groups.front().profile(), program);
    return out;
}

}  // namespace strata::emu
