#pragma once
#include <optional>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

inline constexpr int64_t kTogether = 8;  ///< elements of 16 bytes

/// A kernel of attention (codegen/schedule/attention.h) whose products matrix instructions can compute.
struct AttentionParts {
    UOp top, shift, sum, total, scores;  ///< reductions; what is subtracted
    UOp keys, row, rows;                 ///< ranges: of the reductions; of products and columns; of the results
    UOp query, key, value;               ///< factors, of one type of 16 bits
    UOp of_scores;                       ///< what the maximum is of
    UOp store;
    const MatrixShape* shape;
    double to_exp2;  ///< what an exponent is multiplied by
};

/// Nothing where it is another kernel, or the target has no such instructions.
std::optional<AttentionParts> attention_parts(UOp sink, UOp keys, const Target& target);

/// Whether a value is memory read as it is, along the row, from places that 16 bytes can be read at.
bool is_plain_row(UOp value, UOp row);

}  // namespace strata::codegen
