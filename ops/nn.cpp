#include "strata/ops/nn.h"

#include <cmath>

#include "strata/ops/attention_p.h"
#include "strata/ops/build_p.h"
#include "strata/ops/gradients.h"
#include "strata/ops/indexing_p.h"

namespace strata::ops {
namespace {

void check_floating(std::string_view name, const Tensor& x) {
    if (!x.dtype().is_float())
        user_error(ErrorKind::DType, "[{}] takes floats, not {}; cast first", name, x.dtype().name());
}

void check_same(std::string_view name, std::string_view what, const Shape& have, const Shape& want) {
    if (have != want)
        user_error(ErrorKind::Shape, "[{}] {} has shape {}, it must be {}", name, what, to_string(have),
                   to_string(want));
}

/// softmax along the last axis, and 0 in rows that see no key, whose scores are -infinity alone.
Tensor weights_of(const Tensor& scores) {
    if (scores.size(-1) == 0) return scores;
    Tensor top = scores.max(-1, true);
    Tensor e = scores.sub(detach(where(top.isfinite(), top, 0))).exp(), total = e.sum(-1, true);
    return e.div(where(eq(total, 0), 1, total));
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
    if (weight.ndim() != 2 || x.ndim() == 0 || x.size(-1) != weight.size(1))
        user_error(ErrorKind::Shape, "[linear] shapes {} and {}: weight is (out, in) and x (..., in)",
                   to_string(x.shape()), to_string(weight.shape()));
    if (bias) check_same("linear", "bias", bias->shape(), {weight.size(0)});
    if (!bias) return x.matmul(weight.T());
    return widened(x, false).matmul(widened(weight, false).T()).add(*bias).cast(common_type({x, weight, *bias}));
}

Tensor layernorm(const Tensor& x, int axes, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                 double eps) {
    check_floating("layernorm", x);
    if (axes < 1 || axes > x.ndim())
        user_error(ErrorKind::Shape, "[layernorm] over the last {} axes of shape {}", axes, to_string(x.shape()));
    Shape tail(x.shape().end() - axes, x.shape().end());
    if (weight) check_same("layernorm", "weight", weight->shape(), tail);
    if (bias) check_same("layernorm", "bias", bias->shape(), tail);
    std::vector<int> last;
    for (int i = -axes; i < 0; ++i) last.push_back(i);
    Tensor wide = widened(x), centred = wide.sub(wide.mean(last, true));
    Tensor y = centred.mul(centred.square().mean(last, true).add(eps).rsqrt());
    if (weight) y = y.mul(*weight);
    if (bias) y = y.add(*bias);
    return y.cast(x.dtype());
}

Tensor rmsnorm(const Tensor& x, const std::optional<Tensor>& weight, double eps) {
    check_floating("rmsnorm", x);
    if (x.ndim() == 0) user_error(ErrorKind::Shape, "[rmsnorm] shape () has no axis to normalise");
    if (weight) check_same("rmsnorm", "weight", weight->shape(), {x.size(-1)});
    Tensor wide = widened(x);
    Tensor y = wide.mul(wide.square().mean(-1, true).add(eps).rsqrt());
    return (weight ? y.mul(*weight) : y).cast(x.dtype());
}

Tensor embedding(const Tensor& ids, const Tensor& weight) {
    check_integer("embedding", ids);
    if (weight.ndim() != 2)
        user_error(ErrorKind::Shape, "[embedding] weight has shape {}, it must be (entries, width)",
                   to_string(weight.shape()));
    return weight.take(ids, 0);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& mask, bool causal, std::optional<double> scale) {
    check_floating("scaled_dot_product_attention", query);
    if (query.ndim() < 2 || key.ndim() < 2 || value.ndim() < 2 || query.size(-1) != key.size(-1) ||
        key.size(-2) != value.size(-2))
        user_error(ErrorKind::Shape,
                   "[scaled_dot_product_attention] shapes {}, {} and {}: query (..., n, d), key (..., m, d), value "
                   "(..., m, e)",
                   to_string(query.shape()), to_string(key.shape()), to_string(value.shape()));
    const Attention attention{query, key,    value,
                              mask,  causal, scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))))};
    const Tensor scores = attention.scores();
    const Tensor result = weights_of(scores).matmul(widened(value)).cast(result_type(query, value));
    return scores.numel() == 0 || result.numel() == 0 ? result : with_gradient_of_attention(result, attention);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction reduction) {
    check_floating("cross_entropy", logits);
    check_integer("cross_entropy", target);
    int axis = logits.ndim() > 1 ? 1 : 0;
    Shape want = logits.shape();
    if (!want.empty()) want.erase(want.begin() + axis);
    if (logits.ndim() == 0 || target.shape() != want)
        user_error(ErrorKind::Shape, "[cross_entropy] logits {} and target {}: target needs shape {}",
                   to_string(logits.shape()), to_string(target.shape()), to_string(want));
    // Not gathered: rows are read once, and what arrives at them is one kernel too.
    const Tensor rows = widened(logits).log_softmax(axis);
    const Tensor place = checked_indices(target, rows.size(axis), axis).unsqueeze(axis);
    const Tensor chosen = eq(place, iota_along(rows.shape(), axis).cast(place.dtype()));
    Tensor picked = where(chosen, rows, 0).sum(axis).neg();
    if (reduction == Reduction::mean) picked = picked.mean();
    if (reduction == Reduction::sum) picked = picked.sum();
    return picked.cast(logits.dtype());
}

}  // namespace strata::ops
