#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"
#include "strata/executable/executable.h"

namespace strata::codegen {

struct CompiledGraph;

/// A kernel before its schedule is chosen, and the step that runs it first.
struct KernelStart {
    Kernel kernel;
    std::span<const UOp> buffers;                 ///< by slot
    std::span<const executable::Number> numbers;  ///< by slot, after the buffers
};

/// Values of a kernel that became parameters.
struct TakenValues {
    std::vector<executable::Number> numbers;
    bool renamed = false;  ///< the kernel serves other sizes too: it has another name
};

using SharedCode = std::shared_ptr<const executable::Code>;

/// A user's kernel as a step runs it: with its code, or by the number of the kernel that each run gives.
struct UserKernel {
    executable::Kernel kernel = {};
    uint32_t call = executable::kNone;
    std::vector<UOp> kept = {};  ///< views of its results that stay in memory, by source of its node, or empty
};

/// Facts of the users' kernels of a graph, by their nodes. The other questions are Storage's (schedule.h).
class UserKernels {
  public:
    virtual ~UserKernels() = default;
    /// Its node's sources are views of buffers.
    virtual UserKernel kernel(UOp custom) const = 0;
    virtual std::vector<bool> written(UOp custom) const { return std::vector<bool>(custom.src().size()); }
    virtual std::vector<size_t> tensors(UOp custom) const { return first_places(custom.src()); }
    virtual bool is_alone(UOp /*view*/) const { return false; }
    virtual bool is_unset(UOp /*view*/) const { return false; }
    virtual bool is_dropped(UOp /*pick*/) const { return false; }
};

/// How a graph is compiled. Functions that are not set have the effect that is said.
struct GraphOptions {
    Fusion fusion = Fusion::cost;
    bool any_sizes = false;        ///< kernels serve other sizes too
    bool verify = false;           ///< prove again that memory is reused safely
    bool copy_by_kernels = false;  ///< a copy of a whole buffer is a kernel as well
    bool distinct_names = false;   ///< different kernels have different names, as in one object
    bool names = false;            ///< name the operands: in0, out0, work0, ...
    bool provenance = false;       ///< say why there is each step

    std::span<const UOp> inputs = {};        ///< buffers that are the first operands, in this order
    std::vector<bool> donated = {};          ///< of these: the results may take its memory; empty: of none
    std::span<const uint64_t> numbers = {};  ///< bits of the graph's number tensors (scalar_parameters.h), by place

    /// A view of a buffer that holds a node's value already, or empty; asked of constants too. Not set: nothing is
    /// there.
    std::function<UOp(UOp)> in_memory = {};
    /// A buffer for a value that is stored. Not set: names without memory.
    std::function<UOp(DType, int64_t)> new_buffer = {};
    /// To be set where the graph has custom nodes.
    const UserKernels* user_kernels = nullptr;
    /// Makes parameters, from `first_slot` on, of values of a kernel. Not set: all are in its code.
    std::function<TakenValues(UOp& sink, size_t first_slot)> take_values = {};
    /// Chooses the schedule of a kernel; on several threads at once without `made`. Not set: heuristic().
    std::function<Scheduled(const KernelStart&)> schedule = {};
    /// Compiles kernels, or finds them compiled. Not set: the executable has no code.
    std::function<std::vector<SharedCode>(std::span<const Scheduled>)> code = {};
    /// Called for each step in order, before the schedules of later kernels are chosen: what they search may read what
    /// the step fills. Not set: all kernels are compiled at once.
    std::function<void(const CompiledGraph&, size_t step)> made = {};
};

/// An executable, and what its numbers were in the graph.
struct CompiledGraph {
    executable::Executable executable;
    std::vector<UOp> operands;           ///< buffers
    std::vector<UOp> roots;              ///< views of the buffers of executable.results
    std::vector<Scheduled> kernels;      ///< a user's kernel is empty
    std::vector<std::vector<UOp>> kept;  ///< by step, by slot: views of a user's kernel's results that stay, or empty

    std::vector<UOp> buffers(size_t step) const;  ///< by slot
};

/// The one way from tensor graphs to kernels, the order of their launches and the memory between them. To be called in
/// a GraphScope. Throws what the stages report.
CompiledGraph compile_graph(std::span<const UOp> roots, const Target& target, const GraphOptions& options = {});

/// Code of scheduled kernels, compiled on all cores. Throws what compile_kernel reports; where there is no compiler for
/// the route hip and `or_text` is set, the kernels have their text alone.
std::vector<SharedCode> compile_codes(std::span<const Scheduled> kernels, const Target& target, Text text,
                                      bool or_text = false);

/// The output of each stage from tensors to machine code. First come the tensors' graphs, then for each kernel in order
/// the stages of direct lowering. These are the graph over buffers, the graph over ranges, the actions of its schedule,
/// operations in order of execution, instructions, machine code.
std::vector<std::vector<Stage>> stages_of(std::span<const UOp> roots, const Target& target,
                                          const GraphOptions& options = {});

}  // namespace strata::codegen
