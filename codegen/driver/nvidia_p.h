#pragma once
#include <string>

#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/chip.h"
#include "strata/executable/code.h"

namespace strata::codegen {

/// compile_hip for a chip of NVIDIA: by NVRTC, to machine code.
Result<executable::Code> compile_for_nvidia(const HipSource& source, Chip chip);

/// compiler_identity for NVIDIA's chips.
std::string nvidia_compiler_identity();

}  // namespace strata::codegen
