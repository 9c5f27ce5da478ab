#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/asm/object/source_places.h"
#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/mutex.h"
#include "strata/core/uop/uop.h"
#include "strata/executable/code.h"
#include "strata/runtime/arguments.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

class IdleCalls;
class Program;

/// Workgroups, threads of one, bytes of dynamic LDS.
struct LaunchShape {
    std::array<uint32_t, 3> grid, block;
    uint32_t dynamic_lds = 0;
};

/// A user's kernel on the devices where it was launched.
class LoadedKernel {
  public:
    LoadedKernel();
    /// Of no graph: all equal graphs share a program.
    std::shared_ptr<Program> find(const Device& device);
    std::shared_ptr<Program> add(const Device& device, std::shared_ptr<Program> program);
    void is_on(const Device& device);
    std::vector<const Device*> devices();
    IdleCalls& idle_calls() { return *idle_calls_; }
    const std::vector<size_t>& written_slots(UOp sink);  ///< of the tensors that its graph stores to, in order
    void keep_written_slots(std::vector<size_t> slots);  ///< of machine code without its graph

  private:
    Mutex mutex_;
    std::optional<std::vector<size_t>> written_slots_;
    std::vector<std::shared_ptr<Program>> programs_;
    std::vector<const Device*> devices_;
    std::shared_ptr<IdleCalls> idle_calls_;
};

/// A user's kernel: HIP source, a UOp graph or a finished code object, and how to launch it.
struct CustomKernel {
    /// The last: a UOp graph's machine code of one arch, without the graph.
    std::variant<codegen::HipSource, codegen::Kernel, isa::Bytes, executable::Code> body;
    std::string name;                ///< the entry; "" = the only one
    std::array<uint32_t, 3> grid{};  ///< workgroups; 0 = the launch says; a UOp graph has its own, or takes it
    std::array<uint32_t, 3> block{};
    uint32_t lds = 0;         ///< dynamic LDS bytes
    std::string arch;         ///< of a code object; "" = any
    Root graph = {};          ///< keeps a UOp graph alive
    bool takes_grid = false;  ///< of a UOp graph: its block indices are below a bound, and the launch says the grid
    isa::SourcePlaces places = {};  ///< of a UOp graph, where the lines of its tree() come from
    std::shared_ptr<LoadedKernel> loaded = std::make_shared<LoadedKernel>();
};

/// A kernel of a graph as bytes for a file, compiled for a device; Error where there is no machine code for it. The
/// bytes have no places: a source may move.
Result<std::string> bytes_of_compiled(const CustomKernel& kernel, Device& device);
std::string bytes_of_compiled(const CustomKernel& kernel, const executable::Code& code, std::string_view arch);
/// The kernel that such bytes are, or null for any others. A place of line 0 is none.
std::shared_ptr<CustomKernel> compiled_of_bytes(std::string_view bytes, std::string_view arch,
                                                std::vector<isa::SourceLine> places = {});

/// One call of a kernel, but for its tensors.
struct CustomLaunch {
    std::shared_ptr<const CustomKernel> kernel;
    std::vector<Argument> arguments = {};           ///< in the kernel's order; none = its tensors alone
    std::array<uint32_t, 3> grid = {}, block = {};  ///< 0 = the kernel's
    std::optional<uint32_t> lds = {};               ///< none = the kernel's
};

/// The shape that the call gives, else the kernel's; a dimension is 0 where neither gives one. A UOp graph has its own,
/// but for the grid of one that takes it.
LaunchShape shape_of(const CustomLaunch& launch, const executable::Code& code);

/// The kernel as machine code; a finished code object is taken as it is.
Result<executable::Code> compile_custom(const CustomKernel& kernel, const codegen::Target& target);

/// The code of a kernel's graph with the kernel's own places: equal graphs share code, whatever lines they come from.
executable::Code at_places_of(const CustomKernel& kernel, executable::Code code);
/// The error of a kernel's graph with the place that it is about.
Error at_places_of(const CustomKernel& kernel, Error error);

/// Keeps the launch for custom nodes with this argument, until the last of them is freed.
CustomArg register_custom(CustomLaunch launch);
std::shared_ptr<const CustomLaunch> find_custom(uint64_t id);

}  // namespace strata::runtime
