#pragma once
#include "strata/codegen/target/target.h"
#include "strata/core/layout/layout.h"

namespace strata::codegen {

/// What each lane of a wave has of the matrices of an instruction: (lane, element) -> m + M * k of A, n + N * k of B,
/// m + M * n of C and D.
struct MatrixLayouts {
    layout::Layout a, b, c;
};
MatrixLayouts matrix_layouts(const MatrixShape& shape);

}  // namespace strata::codegen
