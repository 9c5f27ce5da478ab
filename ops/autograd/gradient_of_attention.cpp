#include "strata/ops/attention_p.h"

#include <limits>

#include "strata/ops/autograd/gradients_p.h"
#include "strata/ops/build_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/gradients.h"

namespace strata::ops {
namespace {

/// Logarithms of the totals of exponentials of rows; 0 of a row that sees no key, whose scores are -infinity alone.
Tensor log_totals(const Tensor& scores) {
    const Tensor top = scores.max(-1, true), shift = detach(where(top.isfinite(), top, 0));
    const Tensor total = scores.sub(shift).exp().sum(-1, true);
    return where(eq(total, 0), 1, total).log() + shift;
}

/// The gradients of query, key, value and the mask, by weights that are computed again from the scores: nothing of
/// their size is kept.
std::vector<Tensor> arrived(const Attention& a, const Tensor& out, const Tensor& g) {
    // Matrix instructions multiply what is as narrow as the operands. Sums are wide.
    const bool is_narrow = a.query.dtype() == a.key.dtype() && a.key.dtype() == a.value.dtype();
    const auto rounded = [&](const Tensor& x) { return is_narrow ? widened(x.cast(a.query.dtype())) : x; };
    const Tensor scores = a.scores(), weights = scores.sub(log_totals(scores)).exp(), wide = widened(g);
    const Tensor by_weights = wide.matmul(widened(a.value).mT());
    const Tensor by_scores = weights * (by_weights - (wide * widened(out)).sum(-1, true));
    const Tensor products = rounded(by_scores);
    std::vector<Tensor> parts{folded_to(products.matmul(widened(a.key)) * a.scale, a.query.shape()),
                              folded_to(products.mT().matmul(widened(a.query)) * a.scale, a.key.shape()),
                              folded_to(rounded(weights).mT().matmul(wide), a.value.shape())};
    if (a.adds_mask()) parts.push_back(folded_to(by_scores, a.mask->shape()));
    return parts;
}

}  // namespace

Tensor Attention::scores() const {
    const Tensor products = widened(query).matmul(widened(key).mT()).mul(scale);
    const double never = -std::numeric_limits<double>::infinity();
    const Shape matrix{query.size(-2), key.size(-2)};
    const Tensor seen = causal ? where(le(iota_along(matrix, 1), iota_along(matrix, 0)), products, never) : products;
    return !mask ? seen : adds_mask() ? seen.add(*mask) : where(*mask, seen, never);
}

Tensor with_gradient_of_attention(const Tensor& value, const Attention& attention) {
    Attention a = attention;
    for (Tensor* x : {&a.query, &a.key, &a.value}) *x = held(*x);
    if (a.mask) a.mask = held(*a.mask);
    const auto backward = [a, value = held(value)](const Tensor& g) { return arrived(a, value, g); };
    if (a.adds_mask())
        return with_backward(value, "attention", {attention.query, attention.key, attention.value, *attention.mask},
                             backward);
    return with_backward(value, "attention", {attention.query, attention.key, attention.value}, backward);
}

}  // namespace strata::ops
