#pragma once
#include "strata/core/symbolic/linear_p.h"

namespace strata {

/// x / c and x % c in a simpler form, c > 0; empty when there is none.
UOp divide(UOp x, int64_t c);
UOp take_remainder(UOp x, int64_t c);

}  // namespace strata
