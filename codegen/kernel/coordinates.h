#pragma once
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// One index expression an axis.
using Coordinates = std::vector<UOp>;

/// Row-major element number of `at` in an array of this shape.
UOp flatten(const Coordinates& at, const Shape& shape);

/// Where a movement op (reshape, permute, expand, shrink, flip) reads its source for coordinates of its result.
Coordinates source_coordinates(UOp movement, const Coordinates& at);

}  // namespace strata::codegen
