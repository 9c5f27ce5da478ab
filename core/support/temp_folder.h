#pragma once
#include <string>

#include "strata/core/support/result.h"

namespace strata {

/// A private folder of this process in $TMPDIR or /tmp, removed when the process ends. The first call of a process also
/// removes those that killed processes of this user left.
Result<std::string> process_temp_folder();

}  // namespace strata
