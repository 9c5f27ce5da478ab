#pragma once
#include "strata/codegen/kernel/offset_of_ranges.h"

namespace strata::codegen {

/// An access to global memory.
struct Visit {
    OffsetOfRanges offset;  ///< in elements
    int bytes;              ///< of an element
    double times;           ///< that a thread makes it
};

/// The ranges of a block's threads, as places in `ranges`: the one that moves from lane to lane first. Lanes of
/// matrices come before all others; these in the order in which a wave touches the fewest cache lines. Among equal
/// orders those ranges come first whose neighbours are the nearest in memory, then those made last.
std::vector<size_t> thread_order(std::span<const UOp> ranges, std::span<Visit> visits, int wave_size);

}  // namespace strata::codegen
