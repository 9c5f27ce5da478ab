#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// x @ weight^T + bias: x (..., in), weight (out, in), bias (out,) or absent.
Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {});

/// (x - mean) / sqrt(var + eps) over the last `axes` axes, then * weight + bias where given (shape of those axes).
Tensor layernorm(const Tensor& x, int axes = 1, const std::optional<Tensor>& weight = {},
                 const std::optional<Tensor>& bias = {}, double eps = 1e-5);

/// x / sqrt(mean(x^2) + eps) over the last axis, then * weight where given.
Tensor rmsnorm(const Tensor& x, const std::optional<Tensor>& weight = {}, double eps = 1e-6);

/// Rows of weight (entries, width) by integer ids of any shape: ids.shape + (width,).
Tensor embedding(const Tensor& ids, const Tensor& weight);

/// softmax(query @ key^T * scale + mask) @ value. query (..., n, d), key (..., m, d), value (..., m, e) -> (..., n, e).
/// mask broadcasts to (..., n, m): bool (true = may attend) or a float that is added. causal: key j is seen by query i
/// when j <= i. scale: 1 / sqrt(d) by default. Computed in float32 for narrower floats.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& mask = {}, bool causal = false,
                                    std::optional<double> scale = {});

Tensor erfc(const Tensor& x);  ///< 1 - erf(x), exact where that is small; of floats

// Of the halves a and b of an axis, whose size is even. At 0 the slope of reglu is 0; a NaN in b arrives in the result.
Tensor glu(const Tensor& x, int axis = -1);     ///< a * sigmoid(b)
Tensor reglu(const Tensor& x, int axis = -1);   ///< a * b where b > 0, else 0
Tensor swiglu(const Tensor& x, int axis = -1);  ///< a * silu(b)
Tensor geglu(const Tensor& x, int axis = -1);   ///< a * gelu(b), exact

enum class Reduction { none, mean, sum };
/// -log_softmax(logits)[target]: logits (n, classes, ...) or (classes,), target integers (n, ...) or ().
Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::mean);

}  // namespace strata::ops
