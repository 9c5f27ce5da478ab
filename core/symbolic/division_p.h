#pragma once
#include "strata/core/symbolic/linear_p.h"

namespace strata {

/// x / c and x % c in a simpler form, c > 0; empty when there is none. `natural`: x is known not to be negative,
/// whatever its bounds say.
UOp divide(UOp x, int64_t c, bool natural = false);
UOp take_remainder(UOp x, int64_t c, bool natural = false);

}  // namespace strata
