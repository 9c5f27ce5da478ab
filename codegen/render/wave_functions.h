#pragma once
#include <string>

namespace strata::codegen {

/// Sections of the prelude (codegen/toolchain/prelude.hip) with functions that rendered text calls. There is one of the
/// name of each matrix instruction, and the path that lane_xor takes for each mask.
std::string wave_functions();
/// Those of NVIDIA's chips, for prelude_nvidia.hip.
std::string nvidia_wave_functions();

}  // namespace strata::codegen
