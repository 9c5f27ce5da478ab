#pragma once
#include <string>

namespace strata {

/// The linker's name for this code: builds that differ have others. Empty where it was told to name nothing.
const std::string& build_id();

}  // namespace strata
