#pragma once
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/kernel/build.h"
#include "strata/codegen/kernel/in_place.h"
#include "strata/codegen/lower/lower.h"
#include "strata/codegen/lower/pass_by_name.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/codegen/target/target.h"
#include "strata/executable/code.h"

namespace strata::codegen {

/// A step of a schedule (not a custom one) as a kernel with its output ranges on the grid: what heuristic() and
/// beam_search() start from.
BoundKernel start_kernel(const ScheduleItem& item);

/// The kernels of a schedule: steps that compute the same over other buffers share one.
class SharedKernels {
  public:
    struct Use {
        size_t kernel;             ///< in all()
        std::vector<UOp> buffers;  ///< by slot
        bool first;
    };
    Use start(const ScheduleItem& item);
    const std::vector<Kernel>& all() const { return kernels_; }

  private:
    struct Known {
        size_t kernel;
        std::vector<size_t> buffers;  ///< by slot after the outputs', the place among those of the signature
    };
    std::vector<Kernel> kernels_;
    std::unordered_map<std::string, Known> known_;  ///< by signature
};

/// The compiler's last stages, the same for tensors, searches and users' UOp kernels: linear program, then by the
/// target's route to machine code. Errors: Usage (a user's kernel breaks the rules), Unsupported (an operation or route
/// that the target does not have), and what compile_hip reports.
/// text: whether what direct lowering makes has its assembly as text too.
Result<executable::Code> compile_kernel(const Scheduled& kernel, const Target& target, Text text = Text::no);
/// From now on `change` gives the graph that is lowered in place of a kernel's. Tests make lowerings wrong by it, for
/// the interpreter to find. Empty: none.
void on_lowering(std::function<UOp(UOp sink)> change);
/// Its HIP text and launch without an object, for `why`: a machine without the compiler.
Result<executable::Code> render_alone(const Scheduled& kernel, const Target& target, Error why);
/// One object that holds all of them, of which those of one name are one; direct lowering's were made with text. Error
/// (Unsupported) where one of several was not written by Strata.
Result<isa::Bytes> one_object(std::span<const executable::Code> kernels, const Target& target);
/// Many, on all cores; in order.
std::vector<Result<executable::Code>> compile_kernels(std::span<const Scheduled> kernels, const Target& target,
                                                      Text text = Text::no);

/// Checks pairs of in_place() against the program of the scheduled kernel: verify_in_place of codegen/linear.
Result<void> verify_in_place(const Scheduled& kernel, const Target& target, std::span<const executable::InPlace> pairs,
                             std::span<const uint64_t> slots);

/// The output of each stage of direct lowering for a step of a schedule (not a custom one). These are its graph over
/// buffers, the graph over ranges, the actions of its schedule, operations in order of execution, instructions, machine
/// code.
Result<std::vector<Stage>> stages_of(const ScheduleItem& item, const Target& target);

/// Names and invariants of the passes over instructions, in order; a kernel's instructions after one of them.
std::vector<PassName> instruction_passes();
Result<std::string> instructions_after(const Kernel& kernel, const Target& target, std::string_view pass);

/// The text that the route hip compiles.
Result<HipSource> render_kernel(const Kernel& kernel, const Target& target);

}  // namespace strata::codegen
