#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// The program that compiles HIP source, or an Error (Device) that says what is missing for kernels of tensors:
/// clang-19 or the device libraries. Looked for at the first call, and again where the setting `tools` changes.
Result<std::string> hip_compiler();

/// The route by the setting `target`: auto is hip where there is a hip_compiler(), else asm.
Route route_in_force();
/// For NVIDIA's chips auto is hip always.
Route route_in_force(Chip chip);

std::string_view name(Route route);  ///< as parse_route reads it

}  // namespace strata::codegen
