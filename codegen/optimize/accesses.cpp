// Where the loads and stores of a kernel go: how far they move with each range, and where the lanes of a wave are.
#include "strata/codegen/optimize/accesses_p.h"

#include <algorithm>
#include <bit>

#include "strata/codegen/kernel/thread_order.h"

namespace strata::codegen {
namespace {

/// Ranges of threads, the one that moves from lane to lane first: as linearize will have them.
std::vector<size_t> threads_in_order(const Scopes& scopes, const std::vector<Access>& accesses,
                                     std::span<const OffsetOfRanges> offsets, int wave_size) {
    const RangeSet steps = scopes.with_axis({Axis::loop, Axis::reduce, Axis::unroll, Axis::upcast});
    std::vector<Visit> visits;
    for (size_t i = 0; i < accesses.size(); ++i)
        if (accesses[i].memory.as<ParamArg>().space == Space::global)
            visits.push_back({offsets[i], accesses[i].bytes, scopes.steps(accesses[i].open & steps)});
    return thread_order(scopes.ranges(), visits, wave_size);
}

}  // namespace

bool is_scalar(const Access& access, const Target& target) {
    constexpr int kDword = 4;
    const bool predicated = access.node.src(0).src().size() > 2;
    return target.arch.is_amd() && access.memory.as<ParamArg>().space == Space::global && !access.written &&
           !predicated && access.bytes >= kDword && access.lanes.size() == static_cast<size_t>(target.wave_size) &&
           std::ranges::all_of(access.lanes, [&](int64_t lane) { return lane == access.lanes[0]; });
}

std::vector<Access> accesses_of(const Scopes& scopes, int wave_size) {
    std::vector<Access> found;
    std::vector<OffsetOfRanges> offsets;
    std::vector<int64_t> at(scopes.ranges().size());
    for (UOp u : scopes.order()) {
        if (!u.is(Op::load) && !u.is(Op::store)) continue;
        const UOp place = u.src(0), memory = memory_of(place);
        OffsetOfRanges& offset = offsets.emplace_back(place.src(1), scopes.ranges());
        Access access{u, memory, u.is(Op::store), false, memory.dtype().element().bytes(), scopes.free(u), {}, {}};
        const int64_t start = offset.at(at);
        for (int64_t& range : at) {
            range = 1;
            access.by.push_back(offset.at(at) - start);
            range = 0;
        }
        found.push_back(std::move(access));
    }
    for (Access& access : found)
        access.written = std::ranges::any_of(
            found, [&](const Access& other) { return other.store && other.memory == access.memory; });
    const std::vector<size_t> threads = threads_in_order(scopes, found, offsets, wave_size);
    for (int lane = 0; lane < wave_size; ++lane) {
        int64_t rest = lane;
        for (size_t r : threads) {
            const int64_t size = range_arg(scopes.ranges()[r]).size;
            at[r] = rest % size, rest /= size;
        }
        if (rest) break;  // the block is smaller than a wave
        for (size_t i = 0; i < found.size(); ++i) found[i].lanes.push_back(offsets[i].at(at));
    }
    return found;
}

}  // namespace strata::codegen
