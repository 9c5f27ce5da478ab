#pragma once
#include <algorithm>
#include <numeric>
#include <span>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/scopes.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {

/// Elements of a tile that follow each other in memory, which a thread may read at once. `used`: the ranges of the
/// load; `tile`: those of the tile, the fastest in memory first. Rows that start between dwords are read an element at
/// a time on AMD: the lanes of a wave share a line.
inline int64_t elements_together(UOp load, std::span<const UOp> used, std::span<const UOp> tile, const Target& target) {
    constexpr int64_t kBytesOfDword = 4, kBytesOfLine = 128;
    const UOp offset = load.src(0).src(1);
    int64_t together = 1;
    UOpSet along;
    for (UOp r : tile)
        if (step_of(offset, r) == together) together *= range_arg(r).size, along.insert(r);
    const int64_t bytes = load.dtype().bytes(), of_dword = std::max<int64_t>(kBytesOfDword / bytes, 1);
    const auto starts_between = [&](UOp r) {
        return !along.contains(r) && step_of(offset, r).value_or(0) % of_dword != 0;
    };
    if (!target.arch.is_amd() || std::ranges::none_of(used, starts_between)) return together;
    return std::gcd(together, std::max<int64_t>(kBytesOfLine / (target.wave_size * bytes), 1));
}

/// Steps of the reduction, which are far from each other in local memory: what threads, and a thread's copies, read at
/// once is near.
inline bool is_step(UOp range) {
    const Axis axis = range_arg(range).axis;
    return axis == Axis::reduce || axis == Axis::unroll || axis == Axis::vector || axis == Axis::group;
}

/// Elements between the rows of one step and those of the next. Lanes write runs of `wide` elements of the tile, 16
/// bytes, one after the other. They go over a few steps before the next row: all banks are written at once.
inline int64_t step_padding(std::span<const UOp> tile, int64_t wide) {
    constexpr int64_t kLanes = 8;  // whose runs have all banks
    int64_t within = 1, steps = 1;
    for (UOp r : tile) {
        if (within >= wide && !is_step(r)) break;
        (within < wide ? within : steps) *= range_arg(r).size;
    }
    return within == wide && steps > 1 && steps < kLanes ? wide * (kLanes / steps) : wide;
}

/// True if a loop over the range runs in each step of another one over it. Columns and terms of a product of a matrix
/// with itself have one range, for example. clone_ranges separates them, but not the tile that both would fill.
bool is_walked_within_itself(const Scopes& scopes, UOp range);

}  // namespace strata::codegen
