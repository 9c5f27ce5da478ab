#pragma once
#include <string>

namespace strata {

/// What the linker named this code: builds that differ have others. Empty where it was told to name nothing.
const std::string& build_id();

}  // namespace strata
