#pragma once
#include <string>

#include "strata/core/dtype/dtype.h"

namespace strata::codegen {

/// Sections of the prelude (codegen/toolchain/prelude.hip) with functions that rendered text calls. There is one of the
/// name of each matrix instruction, and the path that lane_xor takes for each mask.
std::string wave_functions();
/// The end of the name of a product's function: "", or the signs of A and B ("_us"), and "_clamp" for saturating sums.
std::string variant_of(DType a, DType b, bool clamp);
/// Those of NVIDIA's chips, for prelude_nvidia.hip.
std::string nvidia_wave_functions();

}  // namespace strata::codegen
