#pragma once
#include <string>

namespace strata::codegen {

/// Sections of the prelude (codegen/compile/prelude.hip) with functions that rendered text calls: one of the name of each matrix
/// instruction, and which way lane_xor takes for which mask.
std::string wave_functions();

}  // namespace strata::codegen
