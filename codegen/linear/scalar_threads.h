#pragma once
#include <array>

#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// The threads' dimensions whose index is the same in all lanes of a wave; loads get one address for them by it.
std::array<bool, 3> scalar_threads(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
