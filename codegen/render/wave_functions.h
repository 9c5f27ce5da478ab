#pragma once
#include <string>

namespace strata::codegen {

/// Sections of the prelude (codegen/toolchain/prelude.hip) with functions that rendered text calls: one of the name of
/// each matrix instruction, and which way lane_xor takes for which mask.
std::string wave_functions();
/// Those of NVIDIA's chips, for prelude_nvidia.hip.
std::string nvidia_wave_functions();

}  // namespace strata::codegen
