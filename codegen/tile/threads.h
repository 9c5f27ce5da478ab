#pragma once
#include <array>

#include "strata/codegen/tile/view.h"

namespace strata::lang {

/// The old value of the one element of a place (View::at), before an atomic operation of 32 or 64 bits. Beyond a
/// bounded view it is 0, and nothing is done. `expected`: of compare_exchange.
UOp atomic(const View& place, AtomicArg what, UOp value, UOp expected = {});

/// The same of two neighbours of float16 or bfloat16, the first at an even offset, to each of which a number is added.
std::array<UOp, 2> atomic_add_pair(const View& place, MemoryScope scope, UOp first, UOp second);

}  // namespace strata::lang
