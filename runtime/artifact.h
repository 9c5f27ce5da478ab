#pragma once
#include <array>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/core/uop/uop.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {

/// What a tensor or a kernel compiles to; nothing of it is run.
struct Artifact {
    struct Kernel {
        std::string name;
        std::array<uint32_t, 3> grid, block;
        uint32_t vgprs = 0, sgprs = 0, lds = 0, scratch = 0;  ///< registers a wave; bytes a workgroup; bytes a lane
        std::string source;                                   ///< HIP text, "" for a finished code object
        std::string schedule;                                 ///< its schedule actions
        isa::Bytes code_object;
        double compile_ms = 0;
    };
    std::vector<Kernel> kernels;  ///< in order of execution
};

/// Schedules and compiles for an arch by name ("" = the default device's). Throws what the stages report.
Artifact compile(std::span<const UOp> roots, const std::string& arch);
Artifact compile(const CustomKernel& kernel, const std::string& arch);

}  // namespace strata::runtime
