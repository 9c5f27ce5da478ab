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

/// True for integers of either sign on both sides, as the kernel says, and sums that may saturate. RDNA3 ISA 7.9: NEG
/// and CLAMP of V_WMMA_*_IU8. PTX ISA, "mma": .u8, .s8, .satfinite.
bool takes_signs(const MatrixShape& shape);
/// True if A or B may have elements of a type.
bool takes_operand(const MatrixShape& shape, DType element);

}  // namespace strata::codegen
