#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/buffer.h"

namespace strata::runtime {

class KernelCall;

/// Computes the roots; for each, a view (movement ops over one buffer) of memory that holds its value. Values in memory
/// are not computed again. Nodes stay usable: the runtime remembers which of them are in memory. `fallback` is the
/// device of graphs that read no memory; nullptr = the default device.
std::vector<Root> realize(std::span<const UOp> roots, Device* fallback = nullptr);

/// True if realize, on this thread, makes kernels that serve other sizes too, once it has met the same graph in two
/// sizes.
bool any_sizes();
bool set_any_sizes(bool any);  ///< gives what it was before

/// Runs a user's kernel over these buffers now, one a tensor.
void launch(KernelCall& call, std::span<const UOp> buffers);

/// From now on nothing is taken for computed but what is a view of memory.
void forget_results();

/// `callback` runs with each node that is freed, before its memory goes. One for the process.
void on_forget(void (*callback)(UOp));
/// `callback` runs after a collection, and says whether it let go of graphs. One for the process.
void on_collected(bool (*callback)());

/// Frees graph nodes that no tensor reaches, with the memory that hangs on them. A value is remembered only as long as
/// some graph contains its node. Takes a time that grows with what was made and let go of since, not with what lives.
void collect();
/// The same where a tensor went that was the last one with its value; nothing else that is free is worth a look now.
void collect_dropped() noexcept;

/// Counts since reset_stats(), and the memory held now.
struct Stats {
    uint64_t kernels = 0;
    double time_ms = 0;
    bool modelled = false;  ///< some of the time comes from a timing model
    uint64_t bytes = 0, flops = 0;
    double compile_ms = 0, schedule_ms = 0, wall_ms = 0;
    struct Launch {
        std::string name;
        std::array<uint32_t, 3> grid, block;
        double time_ms, wall_ms, compile_ms;
        uint64_t bytes, flops;
        providers::LaunchReport report;
    };
    std::vector<Launch> launches;  ///< the last 4096

    uint64_t live_bytes = 0, peak_bytes = 0;   ///< of tensors in device memory: now, and the most since reset_stats()
    uint64_t pooled_bytes = 0;                 ///< freed device memory that is kept for the next tensors
    uint64_t programs = 0, program_bytes = 0;  ///< loaded, with what they take, about
    uint64_t plans_made = 0, plans_found = 0;  ///< graphs that were scheduled; those whose signature was known
    uint64_t plans = 0, plan_bytes = 0;        ///< signatures that are known, with what they take, about
    uint64_t graph_nodes = 0;
    uint64_t evicted_programs = 0, collections = 0;  ///< since the process began
};
Stats stats();
void reset_stats();

}  // namespace strata::runtime
