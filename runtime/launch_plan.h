#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/kernel/in_place.h"
#include "strata/core/uop/uop.h"
#include "strata/runtime/program.h"

namespace strata::runtime {

class KernelCall;

/// A number that a step gives its kernel.
struct LaunchNumber {
    int place = -1;     ///< among the numbers of the structure; -1: always these bits
    uint64_t bits = 0;  ///< at the time of planning
};

/// One step of a schedule ready to run.
struct PlannedStep {
    std::vector<UOp> buffers;  ///< by slot
    std::vector<LaunchNumber> numbers = {};
    std::shared_ptr<Program> program = {};           ///< none: the second buffer is copied to the first
    UOp program_key = {};                            ///< under which Programs has it
    std::vector<executable::InPlace> in_place = {};  ///< by slots
    int call = -1;                                   ///< a user's kernel is called: which of the structure's
    std::vector<UOp> held = {};  ///< of a call, by slot: the view of a result that others hold, or empty
};

/// A user's kernel that a run of a plan calls, and the node that stands for it.
struct PlannedCall {
    KernelCall* kernel;
    UOp node;
    uint64_t id() const { return node.as<CustomArg>().id; }
    /// Runs it over memory, one a source. `held`: views of what others hold of it, by source, or empty.
    void run(std::span<const std::shared_ptr<Buffer>> memory, std::vector<Root> held) const;
};

/// How graphs of one structure are computed: what runs over which memory. Memory is known by its position: first what
/// the graphs read, then what the steps fill. What only steps read is freed after the last of them, or taken for what
/// later ones fill where that has as many bytes; where the last one may write over it, for what that fills.
class LaunchPlan {
  public:
    using Loaded = std::vector<std::shared_ptr<Program>>;  ///< each once

    /// `inputs` are the buffers of the structure; each of `roots` is a view of a buffer. Gives the programs of the
    /// steps.
    LaunchPlan(std::span<const PlannedStep> steps, std::span<const UOp> inputs, std::span<const UOp> roots,
               Loaded& programs);

    /// The programs, which are not to go soon from now on; none: some went already.
    std::optional<Loaded> programs(const Device& device) const;

    /// Runs over this memory with these numbers and users' kernels, in a GraphScope; gives the views of the roots.
    std::vector<Root> run(Device& device, const Loaded& programs, std::span<const UOp> inputs,
                          std::span<const uint64_t> numbers, std::span<const PlannedCall> calls = {}) const;

    /// Of what the steps fill, in the order in which they first name it.
    struct Life {
        size_t bytes = 0, first = 0, last = 0;  ///< steps; a result lasts as long as there are any, steps() is its last
        int heir = -1;                          ///< what is filled over it
    };
    std::vector<Life> lives() const;
    /// Bytes of what the steps fill and others read later, while each step runs.
    std::vector<size_t> bytes_at() const;

    size_t bytes() const;  ///< of the host that it takes, about
    size_t steps() const { return steps_.size(); }

    /// For a file: with the machine code of the programs.
    std::string to_bytes(const Loaded& programs) const;
    /// What a plan is made for.
    struct Extent {
        size_t inputs = 0, numbers = 0;
        std::vector<size_t> calls = {};  ///< tensors of each
    };
    /// The plan that was written, for a structure of this extent, with its programs loaded. None: it is none.
    static std::shared_ptr<const LaunchPlan> of_bytes(std::string_view bytes, Device& device, Extent extent,
                                                      Loaded& programs);

  private:
    friend class PlanRun;
    static constexpr uint32_t kNoPlace = ~0u, kCopy = ~0u, kCall = ~0u - 1;

    struct Memory {
        DType dtype;
        int64_t size;
        bool result = false;        ///< some root is in it, or what others hold of a call
        uint32_t place = kNoPlace;  ///< what is of no root: in the scratch memory of this number
        uint32_t heir = kNoPlace;   ///< what is filled over it, by position after the inputs
        size_t bytes() const { return static_cast<size_t>(size) * static_cast<size_t>(dtype.bytes()); }
    };
    struct Movement {
        Op op;
        Arg arg;
    };
    struct View {
        uint32_t memory = kNoPlace;
        std::vector<Movement> movements = {};  ///< the lowest first
    };
    /// Programs keeps them, as long as its budget lets it.
    struct Kernel {
        UOp key;
        std::weak_ptr<Program> program;
    };
    struct Step {
        uint32_t kernel;               ///< or kCopy, kCall
        std::vector<uint32_t> memory;  ///< by slot
        std::vector<LaunchNumber> numbers;
        uint64_t bytes = 0;           ///< of all of it
        std::vector<uint32_t> freed;  ///< scratch memory that no step after this one uses
        uint32_t call = 0;            ///< of the structure's calls
        std::vector<View> held = {};  ///< of a call, by slot; of what nobody holds in no memory (kNoPlace)
    };

    explicit LaunchPlan(size_t inputs) : inputs_(inputs) {}
    View view_of(UOp u, uint32_t memory);
    /// What each step may fill over what no step after it reads.
    void find_heirs(std::span<const PlannedStep> steps, std::span<const size_t> last_use);
    void place_scratch(std::span<const size_t> last_use);
    /// What find_heirs and place_scratch must keep: each step finds the values that it reads, and fills memory of one
    /// of them only where its kernel may. An internal error otherwise.
    void verify(std::span<const PlannedStep> steps) const;
    std::vector<size_t> last_uses() const;
    /// The last one that is filled over it and over what was.
    uint32_t last_heir(uint32_t at) const;

    size_t inputs_;
    std::vector<Memory> memory_;  ///< by position after the inputs
    std::vector<Kernel> kernels_;
    std::vector<Step> steps_;
    std::vector<View> roots_;
    uint32_t places_ = 0;
};

}  // namespace strata::runtime
