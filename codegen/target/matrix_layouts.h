#pragma once
#include "strata/codegen/target/target.h"
#include "strata/core/layout/layout.h"

namespace strata::codegen {

/// The elements that each lane of a wave has of an instruction's matrices. A maps (lane, element) -> m + M * k, B to n
/// + N * k, C and D to m + M * n.
struct MatrixLayouts {
    layout::Layout a, b, c;
};
MatrixLayouts matrix_layouts(const MatrixShape& shape);

}  // namespace strata::codegen
