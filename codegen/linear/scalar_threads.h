#pragma once
#include <array>

#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// Of threads' dimensions: all lanes of a wave have the same index there, and loads get one address for them by it.
std::array<bool, 3> scalar_threads(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
