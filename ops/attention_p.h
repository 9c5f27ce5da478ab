#pragma once
#include <optional>

#include "strata/ops/tensor.h"

namespace strata::ops {

/// The arguments of scaled_dot_product_attention: query (..., n, d), key (..., m, d), value (..., m, e).
struct Attention {
    Tensor query, key, value;
    std::optional<Tensor> mask;  ///< broadcasts to (..., n, m): bool, true may attend, or what is added to scores
    bool causal;
    double scale;

    bool adds_mask() const { return mask && !mask->dtype().is_bool(); }
    Tensor scores() const;  ///< (..., n, m), wide; -infinity where a query does not see a key
};

/// The value of attention, past which gradients go by weights that are computed again of its operands.
Tensor with_gradient_of_attention(const Tensor& value, const Attention& attention);

}  // namespace strata::ops
