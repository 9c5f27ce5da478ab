// The modelled time of a launch.
#include "strata/asm/emu/observe/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

// From the demands of measured workgroups to the cycles of a launch.
namespace strata::emu {
namespace {

constexpr int kMostGroups = 32;      // of a WGP, or a CU of CDNA
constexpr int kScalarsOfSimd = 800;  // CDNA; a wave of RDNA has 128 of its own

struct Room {
    double groups = 1;
    Limit limit = Limit::none;
};
/// Workgroups that fit at once on a WGP (RDNA3: 4 SIMDs, 128 KiB of local memory) or on a CU of CDNA. Also the limit
/// that keeps more from it.
Room room_on_unit(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape) {
    const int granule = shape.wave_size == 32 ? arch.vgpr_granule32 : arch.vgpr_granule64;
    const int allocated = std::max((shape.vgprs + granule - 1) / granule * granule, granule);
    const int slots = model.unit().waves * isa::Unit::kSimds, waves = static_cast<int>(shape.waves);
    const auto groups_of = [&](int per_simd) { return 1.0 * (per_simd * isa::Unit::kSimds / waves); };
    Room room{groups_of(model.unit().waves), Limit::block};
    const auto at_most = [&](double groups, Limit limit) {
        if (groups < room.groups) room = {groups, limit};
    };
    at_most(kMostGroups, Limit::groups);
    at_most(groups_of(model.unit().registers * 32 / shape.wave_size / allocated), Limit::vgprs);
    if (shape.sgprs) at_most(groups_of(kScalarsOfSimd / shape.sgprs), Limit::sgprs);
    if (shape.lds) at_most(std::floor(1.0 * model.unit().cus * arch.lds_bytes / shape.lds), Limit::lds);
    if (room.groups * waves >= slots) room.limit = Limit::none;
    room.groups = std::max(room.groups, 1.0);
    return room;
}

/// The mean demand of a workgroup that runs `instructions` instructions.
Demand average(std::span<const GroupTiming> groups, double instructions) {
    Demand mean;
    const double share = share_of(groups, instructions);
    for (const GroupTiming& group : groups) {
        Demand one = group.demand();
        mean.vector += one.vector * share;
        mean.matrix += one.matrix * share;
        mean.scalar += one.scalar * share;
        mean.local += one.local * share;
        mean.conflicts += one.conflicts * share;
        mean.memory += one.memory * share;
        mean.latency += one.latency * share;
        mean.l2_bytes += one.l2_bytes * share;
        mean.unique_bytes += one.unique_bytes * share;
        mean.displaced_bytes += one.displaced_bytes * share;
        mean.in_l2_bytes += one.in_l2_bytes * share;
        mean.in_llc_bytes += one.in_llc_bytes * share;
    }
    return mean;
}

/// Instructions of a workgroup, on average of all but the last.
double of_others(const Occupancy& shape, const GroupTiming& last, double of_group) {
    const auto count = static_cast<double>(shape.groups);
    return std::max(1.0, (of_group * count - last.executed()) / (count - 1));
}

/// Cycles that the last workgroup takes beyond those of others: what it does when they are done.
double longer_by(std::span<const GroupTiming> others, const GroupTiming& last) {
    double sum = 0;
    for (const GroupTiming& group : others) sum += group.demand().latency;
    return std::max(0.0, last.demand().latency - sum / static_cast<double>(others.size()));
}

/// Bytes of all allocations that the measured workgroups read, and of those that they wrote.
double footprint(const std::vector<GroupTiming>& groups) {
    std::map<uint64_t, Touched> all;
    for (const GroupTiming& group : groups)
        for (const Touched& touched : group.touched()) {
            Touched& here = all.emplace(touched.low, touched).first->second;
            here.read |= touched.read;
            here.written |= touched.written;
        }
    double bytes = 0;
    for (const auto& [low, here] : all) bytes += static_cast<double>(here.size) * (here.read + here.written);
    return bytes;
}

/// Updates of the most contended address, one a cycle. One that a single measured workgroup updates is its own; one of
/// several is everyone's.
double contention(const std::vector<GroupTiming>& groups, double count) {
    struct Updates {
        double all = 0, groups = 0;
    };
    std::unordered_map<uint64_t, Updates> by_address;
    for (const GroupTiming& group : groups)
        for (const auto& [address, updates] : group.atomics()) {
            Updates& here = by_address[address];
            here.all += updates;
            here.groups += 1;
        }
    double most = 0;
    for (const auto& [address, here] : by_address)
        most = std::max(most, here.groups > 1 ? here.all / static_cast<double>(groups.size()) * count : here.all);
    return most;
}

/// Cycles of the memory beyond the CUs. First touches read DRAM, or the cache in which earlier launches left the line;
/// each die fills its own L2. Later touches hit the L2, the last-level cache or DRAM, by how much of the footprint each
/// holds.
void add_memory(const Model& model, const Demand& mean, double count, double touched, Estimate& out) {
    const double cycle_ns = 1000 / model.mhz;
    const double wanted = mean.unique_bytes * count, first = std::min(wanted, std::max(touched, 128.0));
    const double of_dies = std::min(wanted, first * model.dies);
    const double in_l2 = std::min(1.0, model.l2_mib * kMiB / std::max(of_dies, 1.0));
    const double in_llc = std::min(1.0, model.llc_mib * kMiB / std::max(first, 1.0));
    const double unique = std::max(mean.unique_bytes, 1.0);
    const double cold_in_l2 = 1 - mean.in_l2_bytes / unique, cold_in_llc = 1 - mean.in_llc_bytes / unique;
    const double again =
        (of_dies - first) * cold_in_l2 + (wanted - of_dies) * (1 - in_l2) + mean.displaced_bytes * count;
    out.dram_bytes = first * cold_in_llc + again * (1 - in_llc);
    out.llc_bytes = first * cold_in_l2 + again;
    out.l2_bytes = mean.l2_bytes * count;
    // GB/s are bytes a nanosecond.
    out.of(Bound::l2) = out.l2_bytes / model.l2_gbs / cycle_ns;
    out.of(Bound::llc) = out.llc_bytes / model.llc_gbs / cycle_ns;
    out.of(Bound::dram) = out.dram_bytes / model.dram_gbs / cycle_ns;
}

/// A smooth maximum: what is next to the bottleneck still counts a little, so that saving it is worth something. Only
/// exactly rounded operations: every host gives the same.
double combine(std::initializer_list<double> parts) {
    double largest = 0, sum = 0;
    for (double part : parts) largest = std::max(largest, part);
    if (largest == 0) return 0;
    for (double part : parts) {
        const double x = part / largest;
        sum += x * x * x * x;
    }
    return largest * std::sqrt(std::sqrt(sum));
}

}  // namespace

double share_of(std::span<const GroupTiming> groups, double of_group) {
    double measured = 0;
    for (const GroupTiming& group : groups) measured += group.executed();
    return measured > 0 ? of_group / measured : 1.0 / static_cast<double>(groups.size());
}

std::vector<Use> uses(const Model& model, std::span<const GroupTiming> groups, uint64_t count) {
    std::map<uint64_t, Use> all;
    std::map<uint64_t, double> lines;
    for (const GroupTiming& group : groups)
        for (const Touched& touched : group.touched()) {
            const uint64_t begin = touched.low + touched.first * GroupProfile::kLine,
                           end = touched.low + (touched.last + 1) * GroupProfile::kLine;
            Use& use = all.try_emplace(touched.low, Use{touched.low, begin, end}).first->second;
            use.begin = std::min(use.begin, begin);
            use.end = std::max(use.end, end);
            use.written |= touched.written;
            lines[touched.low] += static_cast<double>(touched.fresh);
        }
    std::vector<Use> out;
    for (auto& [low, use] : all) {
        const double wanted =
            lines[low] * GroupProfile::kLine * static_cast<double>(count) / static_cast<double>(groups.size());
        use.bytes = std::min(wanted, static_cast<double>(use.end - use.begin));
        use.l2_bytes = std::min(wanted, use.bytes * model.dies);
        out.push_back(use);
    }
    return out;
}

Bound Estimate::bound() const { return static_cast<Bound>(std::ranges::max_element(parts) - parts.begin()); }

int groups_on_unit(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape) {
    return std::max(1, static_cast<int>(room_on_unit(model, arch, shape).groups / model.unit().cus));
}

Residency residency(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape) {
    const Room room = room_on_unit(model, arch, shape);
    const double units = model.units(), share = std::ceil(static_cast<double>(shape.groups) / units);
    Residency out{static_cast<uint64_t>(units * room.groups),
                  std::min(room.groups, share) * shape.waves / isa::Unit::kSimds, 1.0 * model.unit().waves,
                  share < room.groups ? Limit::grid : room.limit};
    return out;
}

Estimate estimate(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                  const std::vector<GroupTiming>& groups, double of_group) {
    const bool last_waits = shape.last_waits && groups.size() > 1;
    const std::span<const GroupTiming> alike(groups.begin(), groups.size() - (last_waits ? 1 : 0));
    const Demand mean = average(alike, last_waits ? of_others(shape, groups.back(), of_group) : of_group);
    const double count = static_cast<double>(shape.groups), units = model.units();
    const double share = std::ceil(count / units);  // workgroups of the busiest WGP or CU
    const double resident = std::min(room_on_unit(model, arch, shape).groups, share);
    const double simds = std::min(4.0, resident * shape.waves),
                 cus = std::min<double>(model.unit().cus, resident * shape.waves);
    Estimate out;
    out.of(Bound::vector) = share * mean.vector / simds;
    out.of(Bound::matrix) = share * mean.matrix / simds;
    out.of(Bound::scalar) = share * mean.scalar / simds;
    out.of(Bound::local) = share * mean.local / cus;
    out.of(Bound::lines) = share * mean.memory / cus;
    out.of(Bound::latency) = std::ceil(share / resident) * mean.latency;
    add_memory(model, mean, count, footprint(groups), out);
    out.of(Bound::atomics) = contention(groups, count);
    out.of(Bound::dispatch) = count * shape.waves / model.engines;
    const double memory = std::max({out.of(Bound::l2), out.of(Bound::llc), out.of(Bound::dram)});
    out.of(Bound::launch) = model.cycles(model.launch_us * 1000);
    out.cycles = combine({out.of(Bound::vector), out.of(Bound::matrix), out.of(Bound::scalar), out.of(Bound::local),
                          out.of(Bound::lines), out.of(Bound::latency), memory, out.of(Bound::atomics),
                          out.of(Bound::dispatch)}) +
                 out.of(Bound::launch);
    if (last_waits) out.of(Bound::finish) = longer_by(alike, groups.back());
    out.cycles += out.of(Bound::finish);
    return out;
}

}  // namespace strata::emu
