#pragma once
#include <optional>
#include <vector>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

inline constexpr int64_t kTogether = 8;  ///< elements of 16 bytes

/// Products of a row of results with each key, of one type of 16 bits.
struct ScoreProduct {
    UOp sum;         ///< the reduction, along `row`
    UOp query, key;  ///< factors: of the rows of the results, and of the keys
    UOp row;
};

/// A kernel of attention (codegen/schedule/attention.h) or of a chain of products (product_chains.h) whose products
/// matrix instructions can compute.
struct AttentionParts {
    UOp top, shift, total;        ///< reductions, and what is subtracted: of attention and logarithms of totals
    UOp sum, value;               ///< of weighted values, and these: not of logarithms of totals
    UOp keys, row, rows, column;  ///< ranges: of the reductions; of the first product; of the results; of their columns
    std::vector<ScoreProduct> products;  ///< one of attention, one or two of chains
    UOp scores, query, key;              ///< those of the first
    UOp of_scores;                       ///< what the maximum is of; of a chain the weights, before they are rounded
    UOp store;
    std::vector<UOp> of_rows;  ///< other stores, of attention: of a number a row, made of its top and total
    const MatrixShape* shape;
    double to_exp2 = 1;  ///< what an exponent is multiplied by
    double factor = 1;   ///< what the maximum is multiplied by, where others than exponents use it
    bool is_chain() const { return !top; }
    int64_t columns() const { return column ? range_arg(column).size : 0; }
};

/// Nothing where it is another kernel, or the target has no such instructions.
std::optional<AttentionParts> attention_parts(UOp sink, UOp keys, const Target& target);

/// Scores that are masked on their way into the weights: where(condition, scores, -infinity) or the other way round; or
/// empty.
UOp masked_scores(const AttentionParts& parts);

/// Attention whose results are as narrow as its operands, and whose keys and values are memory read as it is.
bool is_plain_attention(const AttentionParts& parts);

/// True if a value is memory read as it is, along the row, from places that 16 bytes can be read at.
bool is_plain_row(UOp value, UOp row);

}  // namespace strata::codegen
