#pragma once
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "strata/ops/tensor.h"
#include "strata/runtime/arguments.h"

namespace strata {

namespace runtime {
struct CustomKernel;
class Program;
}  // namespace runtime

namespace ops {

/// Workgroups of a grid, or threads of a block; {} = not said here.
struct Dims {
    uint32_t x = 0, y = 0, z = 0;
    Dims() = default;
    Dims(uint32_t x, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};
using UserKernel = std::shared_ptr<const runtime::CustomKernel>;

/// HIP source as any HIP program has it. `name` is a symbol or what C++ calls the kernel ("scale", "scale<float, 4>",
/// "scale(float*, int)"), empty where the text has one kernel. `options` go to the compiler ("-DN=4"), `lds` is dynamic
/// LDS in bytes. Without grid or block the launch says them.
UserKernel hip_kernel(std::string source, std::string name, Dims grid = {}, Dims block = {},
                      std::vector<std::string> options = {}, uint32_t lds = 0);
/// The same of a file, beside which quoted includes are looked for.
UserKernel hip_kernel_file(const std::string& path, std::string name, Dims grid = {}, Dims block = {},
                           std::vector<std::string> options = {}, uint32_t lds = 0);
/// A finished code object (isa::assemble, isa::Assembler::finish); `name` may be empty when it holds one kernel.
UserKernel asm_kernel(std::vector<uint8_t> code_object, Dims grid = {}, Dims block = {}, std::string name = {},
                      uint32_t lds = 0);
/// A kernel as a graph (core/uop/kernel.h); its ranges say how it is launched.
UserKernel uop_kernel(UOp sink);
/// The same of a graph whose block indices are below bounds: each launch says the grid.
UserKernel uop_kernel_of_any_grid(UOp sink);

/// One argument of a user's kernel: a tensor for a pointer (row-major, made so where it is not), nullptr for none, or a
/// number. Or the bytes of a value passed by value.
struct KernelArgument {
    KernelArgument(Tensor& tensor) : tensor(std::shared_ptr<void>(), &tensor) {}  ///< which launch() changes
    KernelArgument(const Tensor& tensor) : tensor(std::make_shared<Tensor>(tensor)) {}
    KernelArgument(Tensor&& tensor) : tensor(std::make_shared<Tensor>(std::move(tensor))) {}
    KernelArgument(std::nullptr_t) : value{runtime::Argument::Null{}} {}
    KernelArgument(runtime::Argument::Address address) : value{address} {}
    KernelArgument(std::vector<uint8_t> bytes) : value{std::move(bytes)} {}
    KernelArgument(Number n, std::optional<DType> exact = {})
        : value{runtime::Argument::Number{n.kind, n.i, n.f, exact}} {}
    template <class T>
        requires std::is_arithmetic_v<T>
    KernelArgument(T number) : KernelArgument(Number(number)) {}

    std::shared_ptr<Tensor> tensor;  ///< none when it is something else
    runtime::Argument value;
};

/// Settings of a launch, which come before its kernel's.
struct LaunchOptions {
    Dims grid = {}, block = {};
    std::optional<uint32_t> lds = {};
};

/// Which arguments are outputs: their places or the names of their parameters.
using Outputs = std::vector<std::variant<int64_t, std::string>>;

/// A user's kernel over these arguments, in its own order. Lazy: launched once, when a result is realized. Returns the
/// outputs, without any one tensor a tensor, as the kernel leaves them; the arguments keep their values. A kernel whose
/// parameters do not tell what it writes, as assembly's, writes the first of them alone. Names of outputs compile the
/// kernel now.
std::vector<Tensor> custom_kernel(const std::vector<KernelArgument>& arguments, UserKernel kernel,
                                  const LaunchOptions& options = {}, const Outputs& outputs = {});
std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs, UserKernel kernel);

/// The same now. A tensor that the kernel writes is changed, no other: what shares its memory keeps the value that it
/// had.
struct LaunchResult {
    std::vector<Tensor> tensors;  ///< as the kernel leaves them
    std::vector<size_t> written;  ///< the outputs; without any, those that pointers lead to that are not to const
};
LaunchResult launch(const std::vector<KernelArgument>& arguments, UserKernel kernel, const LaunchOptions& options = {},
                    const Outputs& outputs = {});
/// The same, without the tensors: they are the arguments'.
std::vector<size_t> launch_in_place(const std::vector<KernelArgument>& arguments, UserKernel kernel,
                                    const LaunchOptions& options = {}, const Outputs& outputs = {});

/// The memory of a tensor, which this puts there row by row: of the device if it was not placed. `written`: no other
/// tensor shares it, so that who writes there changes this tensor alone.
std::shared_ptr<runtime::Buffer> memory_of(Tensor& t, const runtime::Device& device, bool written);

/// The module of a kernel on a device, which this loads: each device has __device__ and __constant__ variables of its
/// own. Usage errors where there is no such variable, and where no device is named and the kernel is on others than the
/// default.
class Variables {
  public:
    explicit Variables(const UserKernel& kernel, std::string_view device = "");
    std::vector<std::string> names() const;
    size_t size(const std::string& name) const;
    std::vector<uint8_t> read(const std::string& name) const;
    void write(const std::string& name, std::span<const uint8_t> bytes) const;

  private:
    std::shared_ptr<runtime::Program> program_;
};

}  // namespace ops
}  // namespace strata
