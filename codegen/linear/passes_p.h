#pragma once
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/linear/scopes.h"

namespace strata::codegen {

/// The ranges that become threads of a block, the fastest first (threadIdx.x).
using ThreadOrder = std::vector<UOp>;

// Each pass is described at the head of its file.
Result<void> verify_input(const Kernel& kernel);
Result<UOp> expand(UOp sink);
UOp gate_group_stores(UOp sink);
UOp unshare_ranges(UOp sink);
ThreadOrder arrange_threads(UOp sink);
UOp lower_reduces(UOp sink, const ThreadOrder& threads);
Result<UOp> map_grid(UOp sink, const ThreadOrder& threads, const Target& target, LinearProgram& program);
UOp widen_floats(UOp sink);
UOp arrange_sums(UOp sink);
UOp vectorize(UOp sink, const Target& target);
UOp lower_index(UOp sink);
Result<std::vector<UOp>> order(UOp sink);

// lower_reduces, in parts.
/// Sums (or whatever `op` does) the threads' `partials` along the group ranges in local memory; every thread gets the
/// results. `loops`: the serial ranges around it.
struct GroupReduction {
    Op op;
    std::vector<UOp> groups;  ///< ranges
    std::vector<UOp> loops;
    const ThreadOrder& threads;
};
std::vector<UOp> reduce_over_threads(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot);

}  // namespace strata::codegen
