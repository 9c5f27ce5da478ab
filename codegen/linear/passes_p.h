#pragma once
#include <optional>

#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// The ranges that become threads of a block, the fastest first (threadIdx.x).
using ThreadOrder = std::vector<UOp>;

/// Facts for passes beside the graph, and results of passes for later ones.
struct Context {
    const Target& target;
    LinearProgram program;     ///< its name; map_grid fills in grid and block
    ThreadOrder threads = {};  ///< found by arrange_threads
    UOp finish = {};           ///< of the kernel: append_last_block adds it
    std::optional<Scopes> last = {};

    /// Those of the pass's graph, until they are asked for of another: a pass that changes nothing leaves them to the
    /// next.
    const Scopes& scopes(UOp sink) {
        if (!last || last->order().back() != sink) last.emplace(sink);
        return *last;
    }
};

/// The one that the passes of a kernel start with.
Context context_of(const Kernel& kernel, const Target& target);

#define PASS(name, ...) Result<UOp> name(UOp sink, Context& context);
#include "strata/codegen/linear/passes.def"
#undef PASS

// Before and after the passes.
Result<void> verify_input(const Kernel& kernel);
/// Checks operations of whole waves: the target has them, and its waves are whole where it needs them so.
Result<void> verify_waves(const LinearProgram& program, const Target& target);

// lower_reduces and lower_scans, in parts.
/// Sums (or whatever `op` does) the threads' `partials` along the group ranges; every thread gets the results, the same
/// in all of them. `loops`: the serial ranges around it.
struct GroupReduction {
    Op op;
    std::vector<UOp> groups;  ///< ranges
    std::vector<UOp> loops;
    const ThreadOrder& threads;
    const Target& target;
};
std::vector<UOp> reduce_over_threads(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot);
/// For each partial the sum over threads before this one along the one group range. Also the sum over all, the same in
/// all of them.
struct Running {
    UOp before, all;
};
std::vector<Running> scan_over_threads(const GroupReduction& scan, std::span<const UOp> partials, int& next_slot);
/// The number of memory of a block or thread from which on none is taken.
int next_free_slot(const Scopes& scopes);

}  // namespace strata::codegen
