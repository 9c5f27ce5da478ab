#pragma once
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/compile/compiled.h"
#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// A user's kernel: HIP source, a UOp graph or a finished code object, and how to launch it.
struct CustomKernel {
    std::variant<codegen::HipSource, codegen::Kernel, isa::Bytes> body;
    std::string name;                       ///< the entry
    std::array<uint32_t, 3> grid{1, 1, 1};  ///< workgroups; taken from the linear program for a UOp graph
    std::array<uint32_t, 3> block{1, 1, 1};
    uint32_t lds = 0;  ///< dynamic LDS bytes
    std::string arch;  ///< of a code object; "" = any
    Root graph = {};   ///< keeps a UOp graph alive
};

/// The kernel as machine code; a finished code object is taken as it is.
Result<codegen::Compiled> compile_custom(const CustomKernel& kernel, const codegen::Target& target);

/// Keeps the kernel for a custom node; its id goes into CustomArg.
uint64_t register_custom(std::shared_ptr<const CustomKernel> kernel);
/// Says which node was made for the id: the kernel is released when it is freed.
void own_custom(UOp node);
std::shared_ptr<const CustomKernel> find_custom(uint64_t id);

}  // namespace strata::runtime
