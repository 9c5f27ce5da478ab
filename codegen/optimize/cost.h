#pragma once
#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// Clocks that a schedule keeps each part of a card busy, from its graph alone: the search orders candidates by it
/// before it compiles any. It is for comparing schedules of one kernel.
struct StaticCost {
    double vector = 0;    ///< instructions of the vector units
    double matrix = 0;    ///< of the matrix cores
    double local = 0;     ///< local memory, with its conflicts
    double lines = 0;     ///< cache lines that accesses of waves touch
    double memory = 0;    ///< the slowest of L2, last-level cache and DRAM
    double latency = 0;   ///< waiting that no other workgroup fills
    double dispatch = 0;  ///< starting waves

    /// All of it: the longest part, and a little of those next to it.
    double clocks() const;
};

StaticCost static_cost(const Kernel& kernel, const Target& target);

}  // namespace strata::codegen
