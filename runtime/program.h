#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/target.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// A scheduled kernel as text and launch dimensions.
struct Rendered {
    codegen::HipSource source;
    std::array<uint32_t, 3> grid, block;
    std::vector<int> slots;  ///< of the buffers it still uses, one a parameter
};

/// What one launch took on the device, and what else its provider tells.
struct Launched {
    double time_ms;
    hip::LaunchReport report;
};

/// A kernel on a device, ready to launch.
class Program {
  public:
    /// Loads the code object; Launch error when `name` is not in it or its explicit arguments are not `buffers`
    /// pointers.
    static std::shared_ptr<Program> load(Device& device, isa::Bytes code_object, const std::string& name,
                                         size_t buffers);
    static std::shared_ptr<Program> load(Device& device, isa::Bytes code_object, const Rendered& rendered);
    ~Program();
    Program(const Program&) = delete;

    /// Runs over device memory, one pointer a buffer, to its end. Throws what the device reports.
    Launched launch(std::span<const hip::DevicePtr> buffers) const;

    const Device& device() const { return device_; }
    const isa::KernelInfo& info() const { return *object_.find(name); }
    const isa::CodeObject& object() const { return object_; }

    std::string name;
    std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
    std::vector<int> slots;  ///< which of the buffers are parameters; empty = all
    uint32_t lds = 0;        ///< dynamic LDS bytes
    double compile_ms = 0;   ///< source to code object, near 0 from the cache
    std::string source;      ///< HIP text, or "" for a code object
    uint64_t flops = 0;      ///< floating-point operations of one launch

  private:
    Program(Device& device, isa::CodeObject object) : device_(device), object_(std::move(object)) {}
    Device& device_;
    isa::CodeObject object_;
    hip::ModuleHandle* module_ = nullptr;
    hip::FunctionHandle* function_ = nullptr;
};

Result<Rendered> render(const codegen::Kernel& kernel, const codegen::Target& target);

/// Compiles and loads kernels, in parallel and in order; memoised by the kernel's graph and the device.
std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Kernel> kernels);
std::shared_ptr<Program> program(Device& device, const CustomKernel& kernel, size_t buffers);

/// Floating-point operations of one run of the kernel, from its loops.
uint64_t count_flops(UOp sink);

/// The schedule of a kernel: by hand-written rules, or from the search when settings().beam is not 0. `buffers` are the
/// memory that the search may read; the output is not touched.
codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel,
                                   std::span<const hip::DevicePtr> buffers);

}  // namespace strata::runtime
