#pragma once
#include <memory>
#include <vector>

#include "strata/codegen/compile/compiled.h"
#include "strata/codegen/target/target.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// What one launch took on the device, and what else its provider tells.
struct Launched {
    double time_ms;
    hip::LaunchReport report;
};

/// A kernel on a device, ready to launch.
class Program {
  public:
    /// Loads the code object; Launch error when the entry is not in it or its explicit arguments are not `buffers`
    /// pointers.
    static std::shared_ptr<Program> load(Device& device, codegen::Compiled code, size_t buffers);
    ~Program();
    Program(const Program&) = delete;

    /// Runs over device memory, one pointer a buffer, to its end. Throws what the device reports.
    Launched launch(std::span<const hip::DevicePtr> buffers) const;

    const Device& device() const { return device_; }

    codegen::Compiled code;  ///< grid, block and dynamic LDS may be changed

  private:
    Program(Device& device, codegen::Compiled code) : code(std::move(code)), device_(device) {}
    Device& device_;
    hip::ModuleHandle* module_ = nullptr;
    hip::FunctionHandle* function_ = nullptr;
};

/// What a device's kernels are compiled for: its arch, by the route of the settings.
codegen::Target target_of(const Device& device);

/// Compiles and loads kernels, in parallel and in order; memoised by the kernel's graph and the device.
std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Scheduled> kernels);
std::shared_ptr<Program> program(Device& device, const CustomKernel& kernel, size_t buffers);

}  // namespace strata::runtime
