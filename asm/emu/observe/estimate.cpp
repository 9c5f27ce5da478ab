#include "strata/asm/emu/observe/estimate.h"

#include <algorithm>
#include <cmath>

// From the demands of measured workgroups to the cycles of a launch.
namespace strata::emu {
namespace {

constexpr int kShaderEngines = 6;  // each starts about one wave a cycle
constexpr double kMiB = 1048576;

/// Workgroups that fit on a WGP at once (RDNA3: 4 SIMDs, 128 KiB of local memory, 32 workgroups), or on a CU of CDNA.
double groups_on_unit(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape) {
    const int granule = shape.wave_size == 32 ? arch.vgpr_granule32 : arch.vgpr_granule64;
    const int allocated = std::max((shape.vgprs + granule - 1) / granule * granule, granule);
    const int per_simd =
        std::min(model.waves_per_simd(), model.registers_per_simd() * 32 / shape.wave_size / allocated);
    const int simds = Model::kSimdsPerUnit;
    double groups = std::min(32.0, std::floor(static_cast<double>(per_simd * simds) / shape.waves));
    if (shape.lds) groups = std::min(groups, std::floor(1.0 * model.cus_per_unit() * arch.lds_bytes / shape.lds));
    return std::max(groups, 1.0);
}

Demand average(const std::vector<GroupTiming>& groups) {
    Demand mean;
    const double share = 1.0 / static_cast<double>(groups.size());
    for (const GroupTiming& group : groups) {
        Demand one = group.demand();
        mean.vector += one.vector * share;
        mean.matrix += one.matrix * share;
        mean.scalar += one.scalar * share;
        mean.local += one.local * share;
        mean.memory += one.memory * share;
        mean.latency += one.latency * share;
        mean.l2_bytes += one.l2_bytes * share;
        mean.unique_bytes += one.unique_bytes * share;
        mean.hot_atomics += one.hot_atomics * share;
    }
    return mean;
}

/// Bytes of all allocations that the measured workgroups touched.
double footprint(const std::vector<GroupTiming>& groups) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const GroupTiming& group : groups) all.insert(all.end(), group.touched().begin(), group.touched().end());
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    double bytes = 0;
    for (const auto& [low, size] : all) bytes += static_cast<double>(size);
    return bytes;
}

/// Cycles the memory behind the CUs needs. What is touched for the first time comes from DRAM; what comes back is
/// served by the L2, the last-level cache or DRAM again, by how much of the footprint they hold.
double memory_cycles(const Model& model, const Demand& mean, double count, double touched) {
    const double cycle_ns = 1000 / model.mhz;
    const double wanted = mean.unique_bytes * count, first = std::min(wanted, std::max(touched, 128.0));
    const double again = wanted - first;
    const double in_l2 = std::min(1.0, model.l2_mib * kMiB / std::max(first, 1.0));
    const double in_llc = std::min(1.0, model.llc_mib * kMiB / std::max(first, 1.0));
    const double from_llc = again * (1 - in_l2) * in_llc, from_dram = first + again * (1 - in_l2) * (1 - in_llc);
    // GB/s are bytes a nanosecond.
    const double l2 = mean.l2_bytes * count / model.l2_gbs, llc = (from_llc + from_dram) / model.llc_gbs,
                 dram = from_dram / model.dram_gbs;
    return std::max({l2, llc, dram}) / cycle_ns;
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

uint64_t groups_at_once(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape) {
    return static_cast<uint64_t>(model.cus / model.cus_per_unit() * groups_on_unit(model, arch, shape));
}

double estimate_cycles(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                       const std::vector<GroupTiming>& groups) {
    const Demand mean = average(groups);
    const double count = static_cast<double>(shape.groups), units = 1.0 * model.cus / model.cus_per_unit();
    const double share = std::ceil(count / units);  // workgroups of the busiest WGP or CU
    const double resident = std::min(groups_on_unit(model, arch, shape), share);
    const double simds = std::min(4.0, resident * shape.waves),
                 cus = std::min<double>(model.cus_per_unit(), resident * shape.waves);
    const double vector = share * mean.vector / simds, matrix = share * mean.matrix / simds,
                 scalar = share * mean.scalar / simds;
    const double local = share * mean.local / cus;
    const double lines = share * mean.memory / cus;
    const double waiting = std::ceil(share / resident) * mean.latency;
    const double memory = memory_cycles(model, mean, count, footprint(groups));
    const double atomics = mean.hot_atomics * count;
    const double dispatch = count * shape.waves / kShaderEngines;
    return combine({vector, matrix, scalar, local, lines, waiting, memory, atomics, dispatch}) +
           model.cycles(model.launch_us * 1000);
}

}  // namespace strata::emu
