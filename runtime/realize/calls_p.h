#pragma once
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "strata/codegen/driver/compile_graph.h"
#include "strata/core/uop/uop.h"
#include "strata/core/uop/uop_set.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/launch_plan.h"

namespace strata::runtime {

/// The users' kernels that graphs are to run: compiled, and what a schedule must know of their memory.
class Calls final : public codegen::UserKernels {
  public:
    /// `nodes`: of a signature of the roots, in its order. `in_memory`: views of what is in memory, by node.
    Calls(Device& device, std::span<const UOp> nodes, std::span<const UOp> roots, const UOpMap<UOp>& in_memory);

    /// The part of a plan's key beyond the signature: what the kernels write, where they may, and which results others
    /// hold. Code, numbers and grid of a kernel are not among it: a plan calls what it is given.
    const std::string& form() const { return form_; }
    std::span<const PlannedCall> planned() const { return planned_; }
    std::vector<size_t> sources() const;  ///< how many, by call

    // For a node that a schedule made of one of these.
    std::vector<bool> written(UOp custom) const override;
    std::vector<size_t> tensors(UOp custom) const override;
    bool is_alone(UOp view) const override { return alone_.contains(below_reshapes(view)); }
    bool is_dropped(UOp pick) const override;
    bool is_unset(UOp view) const override { return unset_.contains(below_reshapes(view)); }
    /// By its number among the calls.
    codegen::UserKernel kernel(UOp custom) const override;

  private:
    struct Call {
        size_t kernel;               ///< of kernels_
        bool changes_input = false;  ///< it cannot run again
        std::vector<bool> held = {};
    };
    static UOp below_reshapes(UOp view);
    void add(Device& device, UOp node);
    void look_at_memory(size_t call);
    void find_held(std::span<const UOp> roots, const UOpMap<UOp>& in_memory);
    bool shares_kernel(size_t call) const { return users_[calls_[call].kernel] > 1; }
    size_t first_call_of(UOp custom) const;

    std::deque<KernelCall> kernels_;
    std::vector<size_t> users_;  ///< by kernel: nodes; a schedule does not tell which of several it is
    std::vector<Call> calls_;
    std::vector<PlannedCall> planned_;
    UOpSet alone_, unset_;  ///< buffers
    std::string form_;
};

}  // namespace strata::runtime
