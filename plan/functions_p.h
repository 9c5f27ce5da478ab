#pragma once
#include "strata/ops/nn.h"
#include "strata/plan/row.h"
#include "strata/plan/status.h"

// Functions of rows of ops.def that are no method of tensors. Their attributes are those of the call.
namespace strata::plan {

// Of elements.
Tensor cbrt(const Tensor& x);
Tensor elu(const Tensor& x, double alpha);
Tensor mish(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor softshrink(const Tensor& x, double by);
Tensor prelu(const Tensor& x, const Tensor& weight);
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor fmin(const Tensor& a, const Tensor& b);
Tensor fmax(const Tensor& a, const Tensor& b);
Tensor cast(const Tensor& x, const std::string& dtype);

// Of places and axes.
Tensor pad(const Tensor& x, const Call& call);
Tensor concat(const Call& call);
Tensor write_slice(const Tensor& x, const Tensor& values, const std::vector<int64_t>& start);
Tensor reduce_to(const Tensor& x, const std::vector<int64_t>& shape);
Tensor trace(const Tensor& x);
OptionalAxis optional_axis(const Call& call);
std::optional<Shape> sizes(const Call& call, std::string_view attribute);  ///< none: an empty list
Tensor logcumsumexp(const Tensor& x, int axis);
Tensor sparsemax(const Tensor& x, int axis);

// Norms. Weight and bias are operands 1 and 2.
Tensor rms_norm(const Tensor& x, const Call& call);
Tensor layer_norm(const Tensor& x, const Call& call);
Tensor group_norm(const Tensor& x, const Call& call, int64_t groups);
Tensor batch_norm(const Tensor& x, const Call& call);  ///< mean and variance are operands 1 and 2

/// The other operand of a loss, which has x's shape.
const Tensor& same(const Tensor& x, const Tensor& other);
/// The loss of each element, its mean or its sum, by the attribute "reduction".
Tensor reduced(const Tensor& loss, const Call& call);
Tensor cross_of_logits(const Tensor& x, const Tensor& target);
Tensor huber(const Tensor& x, const Tensor& target, double delta);
Tensor log_cosh(const Tensor& x, const Tensor& target);
Tensor focal(const Tensor& x, const Tensor& target, double gamma);
Tensor kl_div(const Tensor& x, const Tensor& target);
Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance, double eps);
Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target, double margin);
Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin);
Tensor nll(const Tensor& x, const Tensor& target);
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target);  ///< of probabilities
Tensor multi_margin(const Tensor& x, const Tensor& target, double margin);

// Of integers. The width is that of the type.
Tensor popcount(const Tensor& x);
Tensor clz(const Tensor& x);
Tensor ctz(const Tensor& x);
Tensor bincount(const Tensor& x, int64_t bins);
Tensor segment_sum(const Tensor& x, const Tensor& ids, int64_t segments);
Tensor segment_mean(const Tensor& x, const Tensor& ids, int64_t segments);  ///< 0 of segments without elements
std::vector<Tensor> kthvalue(const Tensor& x, int64_t k, int axis);         ///< the k-th smallest and its position
Tensor embedding_bag(const Tensor& ids, const Tensor& weight, const std::string& mode);
/// Whole numbers from low to high, halves to even. The scale broadcasts: of a tensor, channel, token or group.
Tensor quantized(const Tensor& x, const Tensor& scale, int64_t low, int64_t high);
Tensor dequantized(const Tensor& x, const Tensor& scale);

// Products.
Tensor gemm(const Tensor& a, const Tensor& b, const Call& call);
Tensor lp_pool(const Tensor& x, const Call& call);
Tensor sdpa(const Call& call);
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin);
Tensor conv(const Tensor& x, const Tensor& weight, const Call& call, bool transposed);

}  // namespace strata::plan
