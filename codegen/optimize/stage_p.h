#pragma once
#include <algorithm>
#include <numeric>
#include <span>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/scopes.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {

/// True for the elements of a fragment where a lane holds one: an offset does not name the range, but a mask may.
inline bool has_one_step(UOp range) { return range_arg(range).size == 1; }

/// Elements of a tile that follow each other in memory, which a thread may read at once. `used`: the ranges of the
/// load; `tile`: those of the tile, the fastest in memory first. Accesses of several elements want their alignment.
/// Rows that start between dwords are read an element at a time on AMD: the lanes of a wave share a line.
inline int64_t elements_together(UOp load, std::span<const UOp> used, std::span<const UOp> tile, const Target& target) {
    constexpr int64_t kBytesOfDword = 4, kBytesOfLine = 128;
    const UOp offset = load.src(0).src(1);
    int64_t together = 1;
    UOpSet along;
    for (UOp r : tile)
        if (step_of(offset, r) == together) together *= range_arg(r).size, along.insert(r);
    if (!target.arch.is_amd()) return together;
    int64_t starts = 0;  // what all rows start at a multiple of
    for (UOp r : used)
        if (!along.contains(r) && !has_one_step(r)) starts = std::gcd(starts, step_of(offset, r).value_or(0));
    const int64_t bytes = load.dtype().bytes();
    if (starts * bytes % kBytesOfDword == 0) return std::gcd(together, starts);
    return std::gcd(together, std::max<int64_t>(kBytesOfLine / (target.wave_size * bytes), 1));
}

inline bool is_thread(UOp range) {
    const Axis axis = range_arg(range).axis;
    return axis == Axis::local || axis == Axis::lane || axis == Axis::group;
}

/// An index that all threads of a block read once, as that of the expert whose weights it multiplies.
inline bool is_of_the_block(UOp load) {
    return std::ranges::all_of(toposort(load),
                               [](UOp u) { return !u.is(Op::range) || range_arg(u).axis == Axis::global; });
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
