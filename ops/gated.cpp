// gated: products of one half of an axis with a function of the other.
#include "strata/ops/build_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/nn.h"

namespace strata::ops {
namespace {

std::pair<Tensor, Tensor> halves(std::string_view name, const Tensor& x, int axis) {
    const int at = axis_of(name, axis, x.ndim());
    const int64_t size = x.size(at);
    if (size % 2 != 0)
        user_error(ErrorKind::Shape, "[{}] axis {} of shape {} has no halves", name, axis, to_string(x.shape()));
    const std::vector<Tensor> parts = x.split(Shape{size / 2, size / 2}, at);
    return {parts[0], parts[1]};
}

Tensor rectified(const Tensor& a, const Tensor& b) { return where(le(b, 0), 0, a * b); }

}  // namespace

Tensor glu(const Tensor& x, int axis) {
    const auto [a, b] = halves("glu", x, axis);
    return a * b.sigmoid();
}

// Where b is not above 0 nothing passes, whatever a is: infinity * 0 would be NaN.
Tensor reglu(const Tensor& x, int axis) {
    const auto [a, b] = halves("reglu", x, axis);
    return with_backward(rectified(a, b), "reglu", {a, b}, [a = held(a), b = held(b)](const Tensor& g) {
        return std::vector{rectified(g, b), where(gt(b, 0), g * a, 0)};
    });
}

Tensor swiglu(const Tensor& x, int axis) {
    const auto [a, b] = halves("swiglu", x, axis);
    return a * b.silu();
}

Tensor geglu(const Tensor& x, int axis) {
    const auto [a, b] = halves("geglu", x, axis);
    return a * b.gelu();
}

}  // namespace strata::ops
