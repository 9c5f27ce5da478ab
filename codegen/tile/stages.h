#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::lang {

/// One loop of a trace, as its end finds it.
struct TracedLoop {
    UOp range;
    std::vector<UOp> effects;  ///< of a step, in program order
    bool is_nested = false;    ///< another loop is around it
    std::vector<UOp> outer;    ///< what comes before the loop, for memory that nothing touched before it
};

/// The same loop, in which copies to local memory come ahead of the step that reads them.
struct StagedLoop {
    std::vector<UOp> before;   ///< effects: copies of the first steps
    std::vector<UOp> effects;  ///< of a step
    std::vector<UOp> staged;   ///< local memories that the loop no longer uses: each has one for all stages
};

/// Double buffering, or with more stages a ring of buffers: local memory for `stages` steps in turns. A step's copies
/// are stored stages - 2 steps ahead, and codegen/linear's prefetch reads them from memory one step before that. Usage
/// error that says why where copies cannot come ahead. `next_slot` numbers the memories.
StagedLoop staged(const TracedLoop& loop, int64_t stages, int& next_slot);

}  // namespace strata::lang
