#pragma once
#include <vector>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/driver/compiled.h"
#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {

/// What a tensor or a kernel compiles to; nothing of it is run.
struct Artifact {
    std::vector<codegen::Compiled> kernels;  ///< in order of execution; those of one name are the same
    codegen::Target target;

    /// One that holds all kernels. Throws (Unsupported) where one of several was not written by Strata.
    isa::Bytes code_object() const;
};

/// An arch by name ("" = the default device's), by the route of the settings.
codegen::Target target_named(const std::string& arch);

/// Schedules and compiles, by winners of searches where settings().beam is not 0 and the default device is such a target. Where
/// there is no compiler for the route hip the kernels have their text alone. Throws what the stages report.
Artifact compile(std::span<const UOp> roots, const codegen::Target& target);
Artifact compile(const CustomKernel& kernel, const codegen::Target& target);

/// What one step of a schedule holds.
struct StepOutline {
    std::string name, result;  ///< of the kernel; "float32 (64, 1)"
    std::vector<std::pair<std::string, int>> operations;
    uint64_t read = 0, written = 0;  ///< bytes of the buffers
    std::string why;                 ///< its result is stored
};
/// The steps that compute tensors, and the bytes that cannot but be moved: of what they are made of, and of the results.
struct Outline {
    std::vector<StepOutline> steps;
    uint64_t least_bytes = 0;
};
Outline outline(std::span<const UOp> roots);

/// What each stage makes of tensors on the way to machine code: first their graphs, then for each kernel what
/// codegen::stages_of gives.
std::vector<std::vector<codegen::Stage>> stages(std::span<const UOp> roots, const codegen::Target& target);

}  // namespace strata::runtime
