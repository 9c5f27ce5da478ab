#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "strata/codegen/driver/compile_graph.h"
#include "strata/codegen/kernel/signature.h"
#include "strata/core/uop/uop.h"
#include "strata/runtime/launch_plan.h"
#include "strata/runtime/realize/calls_p.h"

namespace strata::runtime {

inline double ms_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Graphs that are to be realized, and what is known of them.
struct GraphRequest {
    std::span<const UOp> roots;
    Device& device;
    const Calls& calls;
    const codegen::Signature& signature;
    const UOpMap<UOp>& known;           ///< views of what is in memory, and of numbers that are parameters
    std::span<const uint64_t> numbers;  ///< of the signature
    std::vector<bool> donated = {};     ///< of the buffers of the signature, as GraphOptions has it
    bool is_tuned = false;              ///< in a tuning session: what earlier searches left is searched to its end
};

/// Compiles a graph and loads its programs; can run its steps one by one. Its buffers live as long as it does.
class GraphLoader {
  public:
    explicit GraphLoader(const GraphRequest& request);
    GraphLoader(const GraphLoader&) = delete;

    /// The schedule alone: kernels are not searched and have no code.
    codegen::CompiledGraph schedule(codegen::Fusion fusion) const;
    codegen::CompiledGraph load(codegen::Fusion fusion) { return compile(fusion, options_); }
    /// Calls run(graph, step) for each step before the schedules of later kernels are searched.
    using Run = std::function<void(const codegen::CompiledGraph&, size_t step)>;
    codegen::CompiledGraph load_and_run(codegen::Fusion fusion, const Run& run);

    /// Runs one step over the memory of its buffers.
    void run(const codegen::CompiledGraph& graph, size_t step) const;
    /// Fills its memory, and neither counts nor records that.
    void try_out(const codegen::CompiledGraph& graph, size_t step) const;

    const LaunchPlan::Loaded& programs() const { return programs_; }
    /// Milliseconds of a step's kernel in its tuning record; 0: there is none.
    double searched_ms(const executable::Step& step) const {
        return step.kernel < searched_ms_.size() ? searched_ms_[step.kernel] : 0;
    }

  private:
    codegen::CompiledGraph compile(codegen::Fusion fusion, codegen::GraphOptions options);
    codegen::Scheduled choose(const codegen::KernelStart& start);

    const GraphRequest request_;
    codegen::GraphOptions options_;
    LaunchPlan::Loaded programs_;      ///< by kernel
    std::vector<double> searched_ms_;  ///< by kernel
    std::vector<Root> made_;
    double running_ms_ = 0;
};

}  // namespace strata::runtime
