#pragma once
#include <vector>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"
#include "strata/executable/executable.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {

/// The compiled form of a tensor or a kernel; nothing of it is run.
struct Artifact {
    std::vector<executable::Code> kernels;  ///< by step; those of one name are the same
    codegen::Target target;
    executable::Executable executable = {};  ///< with names; of a kernel alone: without steps
    std::string cache_key = {};              ///< of a kernel that is a Python function
    Root graph = {};                         ///< of a kernel of a graph

    bool from_cache() const;  ///< no machine code of it was made

    /// One that holds all kernels. Throws (Unsupported) where one of several was not written by Strata.
    isa::Bytes code_object() const;
};

/// An arch by name ("" = the default device's), by the route of the settings.
codegen::Target target_named(const std::string& arch);

/// Schedules and compiles, by records of searches where settings().beam is not 0 and the default device is such a
/// target. Where there is no compiler for the route hip the kernels have their text alone. Throws what the stages
/// report.
Artifact compile(std::span<const UOp> roots, const codegen::Target& target);
Artifact compile(const CustomKernel& kernel, const codegen::Target& target);

/// The steps that compute tensors and the memory between them, with their provenance and without code. copy_by_kernels:
/// a copy of a whole buffer has a kernel, as in an artifact, which realize does without.
executable::Executable outline(std::span<const UOp> roots, bool copy_by_kernels);

}  // namespace strata::runtime
