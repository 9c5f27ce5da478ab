// layers: norms, losses and products for rows of ops.def.
#include <cmath>
#include <numeric>

#include "strata/ops/convolution.h"
#include "strata/ops/gradient_rules.h"
#include "strata/plan/functions_p.h"

namespace strata::plan {
namespace {

using ops::where;

/// The last axes that a norm is over.
std::vector<int> last_axes(const Tensor& x, const Call& call) {
    const int64_t axes = call.integer("axes");
    if (axes < 1 || axes > x.ndim())
        plan_error(Status::invalid, "axes", {x.shape().size(), static_cast<uint64_t>(axes)},
                   "[plan] over the last {} axes of {}", axes, x.ndim());
    std::vector<int> out(static_cast<size_t>(axes));
    std::iota(out.begin(), out.end(), static_cast<int>(x.ndim() - axes));
    return out;
}

Tensor normalized(const Tensor& x, const std::vector<int>& axes, double eps) {
    const Tensor centred = x - x.mean(axes, true);
    return centred * (centred.square().mean(axes, true) + eps).rsqrt();
}

/// y * weight + bias of operands `at` and the next, of `shape` each.
Tensor scaled(Tensor y, const Call& call, size_t at, const Shape& shape) {
    for (size_t i : {at, at + 1}) {
        const Tensor& by = call.at(i);
        if (!by) continue;
        int64_t wanted = 1;
        for (int64_t size : shape) wanted *= size;
        if (by.numel() != wanted)
            plan_error(Status::invalid, i == at ? "weight" : "bias",
                       {static_cast<uint64_t>(wanted), static_cast<uint64_t>(by.numel())}, "[plan] '{}' has shape {}",
                       i == at ? "weight" : "bias", to_string(by.shape()));
        const Tensor factor = by.reshape(shape);
        y = i == at ? y * factor : y + factor;
    }
    return y;
}

Shape tail(const Tensor& x, const std::vector<int>& axes) {
    return {x.shape().end() - static_cast<ptrdiff_t>(axes.size()), x.shape().end()};
}

/// (1, channels, 1, ...)
Shape channels(const Tensor& x) {
    if (x.ndim() < 2) plan_error(Status::invalid, "x", {2, x.shape().size()}, "[plan] 'x' has no axis of channels");
    Shape out(static_cast<size_t>(x.ndim()), 1);
    out[1] = x.size(1);
    return out;
}

/// A pair of operands of a loss.
void alike(const Tensor& x, const Tensor& other, const char* name) {
    if (x.shape() != other.shape())
        plan_error(Status::invalid, name, {static_cast<uint64_t>(x.numel()), static_cast<uint64_t>(other.numel())},
                   "[plan] '{}' has shape {}, and 'x' has {}", name, to_string(other.shape()), to_string(x.shape()));
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Call& call) {
    const std::vector<int> axes = last_axes(x, call);
    const Tensor y = x * (x.square().mean(axes, true) + call.number("eps")).rsqrt();
    return scaled(y, call, 1, tail(x, axes));
}

Tensor layer_norm(const Tensor& x, const Call& call) {
    const std::vector<int> axes = last_axes(x, call);
    return scaled(normalized(x, axes, call.number("eps")), call, 1, tail(x, axes));
}

Tensor group_norm(const Tensor& x, const Call& call, int64_t groups) {
    const Shape by = channels(x);
    if (groups < 1 || x.size(1) % groups != 0)
        plan_error(Status::invalid, "groups", {static_cast<uint64_t>(x.size(1)), static_cast<uint64_t>(groups)},
                   "[plan] {} channels do not form {} groups", x.size(1), groups);
    const Tensor rows = x.reshape({x.size(0), groups, -1});
    return scaled(normalized(rows, {2}, call.number("eps")).reshape(x.shape()), call, 1, by);
}

Tensor batch_norm(const Tensor& x, const Call& call) {
    const Shape by = channels(x);
    for (size_t i : {size_t{1}, size_t{2}})
        if (call.at(i).numel() != x.size(1))
            plan_error(Status::invalid, i == 1 ? "mean" : "variance",
                       {static_cast<uint64_t>(x.size(1)), static_cast<uint64_t>(call.at(i).numel())},
                       "[plan] '{}' has no number for each of {} channels", i == 1 ? "mean" : "variance", x.size(1));
    const Tensor scale = (call.at(2).reshape(by) + call.number("eps")).rsqrt();
    return scaled((x - call.at(1).reshape(by)) * scale, call, 3, by);
}

const Tensor& same(const Tensor& x, const Tensor& other) {
    alike(x, other, "target");
    return other;
}

Tensor reduced(const Tensor& loss, const Call& call) {
    const std::string& how = call.text("reduction");
    return how == "mean" ? loss.mean() : how == "sum" ? loss.sum() : loss;
}

Tensor cross_of_logits(const Tensor& x, const Tensor& target) {
    alike(x, target, "target");
    const Tensor above = ops::gt(x, 0);
    return where(above, x * (1 - target), -x * target) + where(above, -x, x).exp().log1p();
}

Tensor huber(const Tensor& x, const Tensor& target, double delta) {
    alike(x, target, "target");
    const Tensor d = (x - target).abs();
    return where(ops::le(d, delta), d.square() * 0.5, (d - 0.5 * delta) * delta);
}

// cosh d = 1 + (e^d - 1)^2 / (2 e^d). Beyond 20 the rest is below half an ulp.
Tensor log_cosh(const Tensor& x, const Tensor& target) {
    alike(x, target, "target");
    const Tensor d = x - target, is_near = ops::lt(d.abs(), 20), near = where(is_near, d, 0);
    return where(is_near, (near.expm1().square() * (-near).exp() * 0.5).log1p(), d.abs() - std::log(2));
}

Tensor focal(const Tensor& x, const Tensor& target, double gamma) {
    const Tensor wrong = x.sigmoid() * (1 - target) + (-x).sigmoid() * target;
    return cross_of_logits(x, target) * wrong.pow(gamma);
}

Tensor kl_div(const Tensor& x, const Tensor& target) {
    alike(x, target, "target");
    const Tensor seen = ops::gt(target, 0);
    return where(seen, target * (where(seen, target, 1).log() - where(seen, x, 0)), 0.0);
}

Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance, double eps) {
    alike(x, target, "target"), alike(x, variance, "variance");
    const Tensor v = variance.maximum(eps);
    return (v.log() + (x - target).square() / v) * 0.5;
}

Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target, double margin) {
    alike(a, b, "b");
    constexpr double kLeast = 1e-8;
    const auto length = [&](const Tensor& t) { return ops::root_of(t.square().sum(-1), 2).maximum(kLeast); };
    const Tensor cosine = (a * b).sum(-1) / (length(a) * length(b));
    alike(cosine, target, "target");
    return where(ops::gt(target, 0), 1 - cosine, (cosine - margin).relu());
}

Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin) {
    constexpr double kTiny = 1e-12;
    const auto distance = [&](const Tensor& t) { return ((anchor - t).square().sum(-1) + kTiny).sqrt(); };
    return (distance(positive) - distance(negative) + margin).relu();
}

Tensor nll(const Tensor& x, const Tensor& target) {
    if (x.ndim() != 2 || target.shape() != Shape{x.size(0)})
        plan_error(Status::invalid, "target",
                   {static_cast<uint64_t>(x.ndim() > 0 ? x.size(0) : 0), static_cast<uint64_t>(target.numel())},
                   "[nll] 'x' is (n, classes) and 'target' (n,)");
    return -x.gather(1, target.unsqueeze(1)).squeeze(1);
}

// The slope is that without the limit of the logarithms, and finite at 0 and 1.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target) {
    alike(x, target, "target");
    constexpr double kTiny = 1e-12;
    const Tensor yes = x.log().maximum(-100), no = (-x).log1p().maximum(-100);
    const Tensor slope = (x - target) / (x * (1 - x)).maximum(kTiny), of_target = no - yes;
    return ops::with_backward(-(target * yes + (1 - target) * no), "binary_cross_entropy", {x, target},
                              [slope = ops::held(slope), of_target = ops::held(of_target)](const Tensor& g) {
                                  return std::vector{g * slope, g * of_target};
                              });
}

Tensor multi_margin(const Tensor& x, const Tensor& target, double margin) {
    const Tensor own = -nll(x, target).unsqueeze(1), wide = target.cast(dtypes::int64).unsqueeze(1);
    const Tensor from_start = where(ops::lt(wide, 0), wide + x.size(1), wide);
    const Tensor is_own = ops::eq(from_start, Tensor::arange(0, x.size(1), 1, dtypes::int64));
    return where(is_own, 0, (x - own + margin).relu()).sum(1) / static_cast<double>(x.size(1));
}

// The slope of the root is infinite at 0, where all of a window is 0: it is 0 there.
Tensor lp_pool(const Tensor& x, const Call& call) {
    const double p = call.number("p");
    if (!(p >= 1)) plan_error(Status::invalid, "p", {1, 0}, "[lp_pool] 'p' is {}, below 1", p);
    int64_t elements = 1;
    for (int64_t size : call.integers("window")) elements *= size;
    const Tensor mean = ops::avg_pool(x.abs().pow(p), call.integers("window"), sizes(call, "stride"));
    const Tensor is_zero = ops::eq(mean, 0), sum = where(is_zero, 1, mean) * static_cast<double>(elements);
    return where(is_zero, 0, sum.pow(1 / p));
}

Tensor embedding_bag(const Tensor& ids, const Tensor& weight, const std::string& mode) {
    if (ids.ndim() < 1) plan_error(Status::invalid, "ids", {1, 0}, "[embedding_bag] 'ids' has no axis of a bag");
    const Tensor rows = ops::embedding(ids, weight);
    return mode == "sum" ? rows.sum(-2) : mode == "mean" ? rows.mean(-2) : rows.max(-2);
}

Tensor gemm(const Tensor& a, const Tensor& b, const Call& call) {
    const std::string &layout = call.text("layout"), &epilogue = call.text("epilogue");
    for (const Tensor* t : {&a, &b})
        if (t->ndim() < 2)
            plan_error(Status::invalid, t == &a ? "a" : "b", {2, t->shape().size()}, "[gemm] '{}' is no matrix",
                       t == &a ? "a" : "b");
    const bool is_integer = a.dtype().is_integer();
    const auto operand = [&](const Tensor& t, bool turned) {
        const Tensor wide = is_integer ? t.cast(dtypes::int32) : t;
        return turned ? wide.mT() : wide;
    };
    const Tensor left = operand(a, layout[0] == 'c'), right = operand(b, layout[1] == 'c');
    if (left.size(-1) != right.size(-2))
        plan_error(Status::invalid, "b", {static_cast<uint64_t>(left.size(-1)), static_cast<uint64_t>(right.size(-2))},
                   "[gemm] the inner size of 'a' is {}, and that of 'b' {}", left.size(-1), right.size(-2));
    Tensor y = left.matmul(right);
    const auto times = [&](const Tensor& t, double by) { return by == 1 ? t : t * by; };
    if (is_integer && (call.number("alpha") != 1 || call.at(2) || call.at(3) || epilogue != "identity"))
        plan_error(Status::unsupported, "epilogue", {}, "[gemm] of int8 is the product alone");
    y = times(y, call.number("alpha"));
    if (call.at(2)) y = y + times(call.at(2), call.number("beta"));
    if (epilogue.starts_with("bias") && !call.at(3))
        plan_error(Status::invalid, "bias", {1, 0}, "[gemm] the epilogue '{}' needs the operand 'bias'", epilogue);
    if (call.at(3)) y = y + call.at(3);
    return epilogue == "bias_relu"   ? y.relu()
           : epilogue == "bias_gelu" ? y.gelu()
           : epilogue == "bias_silu" ? y.silu()
                                     : y;
}

Tensor sdpa(const Call& call) {
    const double scale = call.number("scale");
    return ops::scaled_dot_product_attention(call.at(0), call.at(1), call.at(2), call.maybe(3), call.flag("causal"),
                                             scale == 0 ? std::optional<double>() : scale);
}

// Pairs of the two halves of the last axis are turned.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    if (x.ndim() < 1 || x.size(-1) % 2 != 0)
        plan_error(Status::invalid, "x",
                   {x.ndim() < 1 ? 0 : static_cast<uint64_t>(x.size(-1)) + 1,
                    x.ndim() < 1 ? 0 : static_cast<uint64_t>(x.size(-1))},
                   "[rope] the last axis of 'x' has no halves");
    const int64_t half = x.size(-1) / 2;
    const std::vector<Tensor> parts = x.split(Shape{half, half}, -1);
    return ops::cat({parts[0] * cos - parts[1] * sin, parts[1] * cos + parts[0] * sin}, -1);
}

Tensor conv(const Tensor& x, const Tensor& weight, const Call& call, bool transposed) {
    const ops::Sliding sliding{call.integers("stride"), call.integers("padding"), call.integers("dilation")};
    const int64_t groups = call.integer("groups");
    if (transposed)
        return ops::conv_transpose(x, weight, call.maybe(2), sliding, call.integers("output_padding"), groups);
    return ops::conv(x, weight, call.maybe(2), sliding, groups);
}

}  // namespace strata::plan
