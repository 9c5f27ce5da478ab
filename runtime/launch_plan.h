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
};

/// How graphs of one structure are computed: what runs over which memory. Memory is known by its position: first what the
/// graphs read, then what the steps fill. What only steps read is freed behind the last of them, or taken for what later
/// ones fill where that has as many bytes; where the last one may write over it, for what that fills.
class LaunchPlan {
  public:
    using Loaded = std::vector<std::shared_ptr<Program>>;  ///< each once

    /// `inputs` are the buffers of the structure; each of `roots` is a view of a buffer. Gives the programs of the steps.
    LaunchPlan(std::span<const PlannedStep> steps, std::span<const UOp> inputs, std::span<const UOp> roots,
               Loaded& programs);

    /// The programs, which are not to go soon from now on; none: some went already.
    std::optional<Loaded> programs(const Device& device) const;

    /// Runs over this memory with these numbers, in a GraphScope; gives the views of the roots.
    std::vector<Root> run(Device& device, const Loaded& programs, std::span<const UOp> inputs,
                          std::span<const uint64_t> numbers) const;

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
    /// The plan that was written, for a structure of so many inputs and numbers, with its programs loaded. None: it is none.
    static std::shared_ptr<const LaunchPlan> of_bytes(std::string_view bytes, Device& device, size_t inputs,
                                                      size_t numbers, Loaded& programs);

  private:
    friend class PlanRun;
    static constexpr uint32_t kNoPlace = ~0u, kCopy = ~0u;

    struct Memory {
        DType dtype;
        int64_t size;
        bool result = false;        ///< some root is in it
        uint32_t place = kNoPlace;  ///< what is of no root: in the scratch memory of this number
        uint32_t heir = kNoPlace;   ///< what is filled over it, by position behind the inputs
        size_t bytes() const { return static_cast<size_t>(size) * static_cast<size_t>(dtype.bytes()); }
    };
    /// Programs keeps them, as long as its budget lets it.
    struct Kernel {
        UOp key;
        std::weak_ptr<Program> program;
    };
    struct Step {
        uint32_t kernel;               ///< or kCopy
        std::vector<uint32_t> memory;  ///< by slot
        std::vector<LaunchNumber> numbers;
        uint64_t bytes = 0;           ///< of all of it
        std::vector<uint32_t> freed;  ///< scratch memory that no step behind this one uses
    };
    struct Movement {
        Op op;
        Arg arg;
    };
    struct View {
        uint32_t memory;
        std::vector<Movement> movements;  ///< the lowest first
    };

    explicit LaunchPlan(size_t inputs) : inputs_(inputs) {}
    /// What each step may fill over what no step behind it reads.
    void find_heirs(std::span<const PlannedStep> steps, std::span<const size_t> last_use);
    void place_scratch(std::span<const size_t> last_use);
    /// What find_heirs and place_scratch must keep: each step finds the values that it reads, and fills memory of one of them only
    /// where its kernel may. An internal error otherwise.
    void verify(std::span<const PlannedStep> steps) const;
    std::vector<size_t> last_uses() const;
    /// The last one that is filled over it and over what was.
    uint32_t last_heir(uint32_t at) const;

    size_t inputs_;
    std::vector<Memory> memory_;  ///< by position behind the inputs
    std::vector<Kernel> kernels_;
    std::vector<Step> steps_;
    std::vector<View> roots_;
    uint32_t places_ = 0;
};

}  // namespace strata::runtime
