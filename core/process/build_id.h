#pragma once
#include <string>

namespace strata {

/// The linker's name for this code: builds that differ have others. Empty where the linker wrote none.
const std::string& build_id();

}  // namespace strata
