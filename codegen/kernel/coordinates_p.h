#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// One index expression an axis.
using Coordinates = std::vector<UOp>;

UOp index_const(int64_t value);

/// Row-major element number of `at` in an array of this shape.
UOp flatten(const Coordinates& at, const Shape& shape);

/// Where a movement op (reshape, permute, expand, shrink, flip) reads its source for coordinates of its result.
Coordinates source_coordinates(UOp movement, const Coordinates& at);

/// What a reduction starts from: 0, 1, or the type's smallest or largest value (infinities for floats).
UOp identity(Op op, DType type);

}  // namespace strata::codegen
