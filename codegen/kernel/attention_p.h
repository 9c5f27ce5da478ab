#pragma once
#include <utility>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A summand as what changes along a range, and what that is multiplied with or divided by, which can as well stand
/// around the sum.
struct Factors {
    UOp inside;
    std::vector<std::pair<Op, UOp>> outside;
    UOp around(UOp sum) const;
};
Factors factors_of(UOp summand, UOp range);

/// In a kernel with attention (codegen/schedule/attention.h), its columns, which are at `column`, and the products
/// along `depth` become one row. It is as long as the longer of both, so that the threads which share the products have
/// the columns too.
UOp share_columns(UOp sink, UOp column, UOp depth);

}  // namespace strata::codegen
