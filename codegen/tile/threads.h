#pragma once
#include <array>

#include "strata/codegen/tile/view.h"

namespace strata::lang {

/// What the one element of a place (View::at) held before an atomic operation of 32 or 64 bits: 0 beyond a bounded
/// view, where nothing is done. `expected`: of compare_exchange.
UOp atomic(const View& place, AtomicArg what, UOp value, UOp expected = {});

/// The same of two neighbours of float16 or bfloat16, the first at an even offset, to each of which a number is added.
std::array<UOp, 2> atomic_add_pair(const View& place, MemoryScope scope, UOp first, UOp second);

}  // namespace strata::lang
