// elements: functions of elements for rows of ops.def.
#include "strata/core/dtype/dtype.h"
#include "strata/ops/gradient_rules.h"
#include "strata/plan/functions_p.h"

namespace strata::plan {

using ops::where;

// One step of Newton's after the power, which has an error of some ulps.
Tensor cbrt(const Tensor& x) {
    const Tensor is_zero = ops::eq(x, 0), near = where(is_zero, 1, x);
    const Tensor root = near.sign() * near.abs().pow(1.0 / 3);
    const Tensor better = root - (root * root * root - near) / (root * root * 3);
    const Tensor y = where(ops::bitwise_or(is_zero, x.isinf()), x, better);
    return ops::with_backward(y, "cbrt", {x},
                              [y = ops::held(y)](const Tensor& g) { return std::vector{g / (y * y * 3)}; });
}

Tensor elu(const Tensor& x, double alpha) {
    const Tensor above = ops::gt(x, 0);
    return where(above, x, where(above, 0, x).expm1() * alpha);
}

// x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2). Above 0 by e^-x, which does not overflow.
Tensor mish(const Tensor& x) {
    constexpr double kFar = 1000;  // of e^-x nothing is left there
    const Tensor above = ops::gt(x, 0), e = where(above, -x, x).exp();
    const Tensor n = where(above, e * 2 + 1, e * (e + 2)), rest = where(above, e * e * 2, 2);
    const Tensor inverse = 1 / (n + rest), step = n * inverse;
    const Tensor within = where(ops::gt(x.abs(), kFar), kFar, x);
    const Tensor slope = step + within * (rest * inverse) * (1 + step) * x.sigmoid();
    return ops::with_backward(where(ops::lt(x, -kFar), -1.0, x) * step, "mish", {x},
                              [slope = ops::held(slope)](const Tensor& g) { return std::vector{g * slope}; });
}

Tensor softsign(const Tensor& x) {
    const Tensor beyond = x.abs() + 1;
    return ops::with_backward(
        where(x.isinf(), x.sign(), x / beyond), "softsign", {x},
        [beyond = ops::held(beyond)](const Tensor& g) { return std::vector{g / beyond.square()}; });
}

Tensor softshrink(const Tensor& x, double by) {
    return where(ops::gt(x, by), x - by, where(ops::lt(x, -by), x + by, where(x.isnan(), x, 0)));
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
    Shape shape(static_cast<size_t>(x.ndim()), 1);
    if (weight.numel() != 1) {
        if (weight.ndim() != 1 || x.ndim() < 2 || weight.size(0) != x.size(1))
            plan_error(Status::invalid, "weight",
                       {x.ndim() < 2 ? 1u : static_cast<uint64_t>(x.size(1)), static_cast<uint64_t>(weight.numel())},
                       "[prelu] 'weight' has one element, or one for each of axis 1");
        shape[1] = weight.size(0);
    }
    return where(ops::gt(x, 0), x, x * weight.reshape(shape));
}

Tensor fmod(const Tensor& a, const Tensor& b) {
    const Tensor rest = a.abs().remainder(b.abs());
    return where(ops::lt(a, 0), -rest, rest);
}

Tensor fmin(const Tensor& a, const Tensor& b) { return where(a.isnan(), b, where(b.isnan(), a, a.minimum(b))); }
Tensor fmax(const Tensor& a, const Tensor& b) { return where(a.isnan(), b, where(b.isnan(), a, a.maximum(b))); }

Tensor cast(const Tensor& x, const std::string& dtype) { return x.cast(parse_dtype(dtype)); }

}  // namespace strata::plan
