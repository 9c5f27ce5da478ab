#pragma once
#include <algorithm>
#include <string_view>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Instructions that bring four matrices of 8 rows of 16 bytes from local memory to lanes, as NVIDIA's products take
/// them. Lane l gives the address of row l % 8 of matrix l / 8. Of matrix i it gets, in its elements from 4 / bytes * i
/// on, those of row l / 4 from column 4 / bytes * (l % 4) on. The second instruction does so by columns, for elements
/// of 16 bits. Source: PTX ISA, "ldmatrix". In a kernel one is a wmma of that name of three times the row that the lane
/// has read.
inline constexpr std::string_view kReadRows = "ldmatrix_x4", kReadColumns = "ldmatrix_x4_trans";

inline bool is_ldmatrix(UOp u) {
    return u.is(Op::wmma) && (u.as<MatrixArg>().name == kReadRows || u.as<MatrixArg>().name == kReadColumns);
}

}  // namespace strata::codegen
