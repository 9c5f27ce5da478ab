#pragma once
#include <vector>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"
#include "strata/executable/executable.h"
#include "strata/executable/sequence.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {

/// The compiled form of a tensor or a kernel; nothing of it is run.
struct Artifact {
    std::vector<executable::Code> kernels;  ///< by step; those of one name are the same
    codegen::Target target;
    executable::Executable executable = {};  ///< with names; of a kernel alone: without steps
    std::string cache_key = {};              ///< of a kernel that is a Python function
    Root graph = {};                         ///< of a kernel of a graph
    executable::Interface interface = {};    ///< operands by name
    executable::PackedSteps packed = {};     ///< arguments of users' kernels

    bool from_cache() const;  ///< no machine code of it was made

    /// The launches of a run. Throws (Device) where a kernel has its text alone, (Usage) for a kernel alone.
    executable::Sequence sequence() const;

    /// One that holds all kernels. Throws (Unsupported) where one of several was not written by Strata.
    isa::Bytes code_object() const;
};

/// An arch by name ("" = the default device's), by the route of the settings.
codegen::Target target_named(const std::string& arch);

/// The memory that graphs read, as a function has it.
struct FunctionInputs {
    executable::Interface interface;
    std::vector<UOp> buffers;       ///< by input of the interface, then by constant
    std::vector<uint64_t> numbers;  ///< bits, by the place of their number_tensor
    UOpMap<UOp> in_memory = {};     ///< views of constants that are no buffer in the graphs
};
/// Adds the constants: other memory that the graphs read, and the largest values that are made of it alone, which this
/// computes. Gives what keeps them in memory.
std::vector<Root> add_constants(std::span<const UOp> roots, FunctionInputs& inputs);

/// Schedules and compiles, by records of searches where settings().beam is not 0 and the default device is such a
/// target. Where there is no compiler for the route hip the kernels have their text alone. Throws what the stages
/// report.
/// `inputs`: null: every buffer that is read is an input, in<i>.
Artifact compile(std::span<const UOp> roots, const codegen::Target& target, const FunctionInputs* inputs = nullptr);
Artifact compile(const CustomKernel& kernel, const codegen::Target& target);

/// The steps that compute tensors and the memory between them, with their provenance and without code. copy_by_kernels:
/// a copy of a whole buffer has a kernel, as in an artifact, which realize does without.
executable::Executable outline(std::span<const UOp> roots, bool copy_by_kernels);

}  // namespace strata::runtime
