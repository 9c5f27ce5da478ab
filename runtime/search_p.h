#pragma once
#include "strata/runtime/search.h"

namespace strata::runtime {

/// For all recordings that cover this thread.
void note(const Searched& searched);

}  // namespace strata::runtime
