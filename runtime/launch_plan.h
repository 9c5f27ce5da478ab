#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/executable/executable.h"
#include "strata/runtime/program.h"

namespace strata::codegen {
struct CompiledGraph;
}

namespace strata::runtime {

class KernelCall;

using BufferList = std::vector<std::shared_ptr<Buffer>>;

/// A user's kernel that a run of a plan calls, and the node that stands for it.
struct PlannedCall {
    KernelCall* kernel;
    UOp node;
    uint64_t id() const { return node.as<CustomArg>().id; }
    /// Runs it over memory, one a source. `held`: views of what others hold of it, by source, or empty.
    void run(std::span<const std::shared_ptr<Buffer>> memory, std::vector<Root> held) const;
};

/// A launch plan is an executable with its programs loaded on a device: how graphs of one signature are computed, over
/// any memory.
class LaunchPlan {
  public:
    using Loaded = std::vector<std::shared_ptr<Program>>;  ///< by kernel of the executable

    /// `programs`: of the graph's kernels, under whose graphs Programs has them.
    LaunchPlan(const codegen::CompiledGraph& graph, const Loaded& programs);

    /// The programs, which are not to go soon from now on; none: some went already, or lack the text that is wanted.
    std::optional<Loaded> programs(const Device& device) const;

    /// The inputs of a run, and its listeners.
    struct Run {
        std::span<const UOp> inputs;
        BufferList memory = {};  ///< of the inputs
        std::span<const uint64_t> numbers = {};
        std::span<const PlannedCall> calls = {};
        /// Called with the roots that are in a donated input's memory where the run fails. To be set where inputs are
        /// donated.
        std::function<void(size_t root, Root view)> keep = {};
    };
    /// In a GraphScope; gives the views of the roots.
    std::vector<Root> run(Device& device, const Loaded& programs, Run with) const;

    size_t bytes() const;  ///< of the host that it takes, about
    size_t steps() const { return executable_.steps.size(); }

    /// For a file: with the machine code of the programs.
    std::string to_bytes(const Loaded& programs) const;
    /// The sizes that a plan is made for.
    struct Extent {
        size_t inputs = 0, numbers = 0;
        std::vector<size_t> calls = {};  ///< tensors of each
    };
    /// The plan that was written, for a signature of this extent, with its programs loaded. None: it is none.
    static std::shared_ptr<const LaunchPlan> of_bytes(std::string_view bytes, Device& device, const Extent& extent,
                                                      Loaded& programs);

  private:
    friend class PlanRun;

    struct Movement {
        Op op;
        Arg arg;
    };
    struct View {
        uint32_t operand = executable::kNone;
        std::vector<Movement> movements = {};  ///< the lowest first
    };
    /// Programs keeps them, as long as its budget lets it.
    struct Kernel {
        UOp key;
        std::weak_ptr<Program> program;
    };

    LaunchPlan() = default;
    void look_for_donors();
    static View view_of(UOp u, uint32_t operand);

    executable::Executable executable_;  ///< its kernels have no code
    std::vector<Kernel> kernels_;        ///< by kernel of the executable
    bool takes_inputs_ = false;          ///< some result is filled over an input
    std::vector<View> roots_;
    std::vector<std::vector<View>> held_;  ///< by step, by slot: of a call what others hold, else in no operand
};

}  // namespace strata::runtime
