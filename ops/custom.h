#pragma once
#include "strata/ops/tensor.h"

namespace strata {

namespace runtime {
struct CustomKernel;
}

namespace ops {

/// Workgroups of a grid, or threads of a block.
struct Dims {
    uint32_t x, y, z;
    Dims(uint32_t x, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
};
using UserKernel = std::shared_ptr<const runtime::CustomKernel>;

/// HIP source as any HIP program has it. `options` go to the compiler ("-DN=4"), `lds` is dynamic LDS in bytes.
UserKernel hip_kernel(std::string source, std::string name, Dims grid, Dims block,
                      std::vector<std::string> options = {}, uint32_t lds = 0);
/// A finished code object (isa::assemble, isa::Assembler::finish); `name` may be empty when it holds one kernel.
UserKernel asm_kernel(std::vector<uint8_t> code_object, Dims grid, Dims block, std::string name = {}, uint32_t lds = 0);
/// A kernel as a graph (core/uop/kernel.h); its ranges say how it is launched.
UserKernel uop_kernel(UOp sink);

/// A user's kernel over tensors: it gets `out` and the inputs as buffers in this order (row-major, made so where they
/// are not) and fills `out`, whose previous content it may read. Lazy: launched once, when a result is realized.
/// Returns one tensor a buffer as the kernel leaves them, `out` first.
std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs, UserKernel kernel);

}  // namespace ops
}  // namespace strata
