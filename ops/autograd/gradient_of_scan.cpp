// Gradients of scans, running sums, products, maxima and minima, and of the factors of a product.
#include <algorithm>

#include "strata/ops/autograd/gradients_p.h"
#include "strata/ops/build_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/gradients.h"

namespace strata::ops {
namespace {

Tensor backward_sum(const Tensor& x, int axis) { return x.flip(axis).cumsum(axis).flip(axis); }

/// x[i + by] along an axis, and a number where there is none.
Tensor moved_by(const Tensor& x, int64_t by, int axis, Number beyond) {
    Pairs around(x.shape().size(), {0, 0}), kept;
    for (int64_t size : x.shape()) kept.emplace_back(0, size);
    const auto at = static_cast<size_t>(axis);
    around[at] = {std::max<int64_t>(-by, 0), std::max<int64_t>(by, 0)};
    if (by > 0) kept[at] = {by, by + x.shape()[at]};
    return x.pad(around, beyond).shrink(kept);
}

Tensor products_before(const Tensor& x, int axis) { return moved_by(x, -1, axis, 1).cumprod(axis); }

/// The gradient of each: the products before it times r[i] = g[i] + x[i + 1] r[i + 1], by doubling (Kogge and Stone
/// 1973). It has derivatives of every order.
Tensor to_running_product_by_doubling(const Tensor& g, const Tensor& x, int axis) {
    constexpr int kTogether = 3;  // steps of one kernel
    Tensor r = g, factor = moved_by(x, 1, axis, 0);
    for (int step = 1; int64_t{1} << (step - 1) < x.size(axis); ++step) {
        const int64_t by = int64_t{1} << (step - 1);
        r = r + factor * moved_by(r, by, axis, 0);
        factor = factor * moved_by(factor, by, axis, 0);
        if (step % kTogether == 0) r = r.contiguous(), factor = factor.contiguous();
    }
    return products_before(x, axis) * r;
}

/// The gradients of g and x by that of a value made of them, by the operations of another way to make it.
template <typename Make>
std::vector<Tensor> made_again(const Tensor& arrived, const Tensor& g, const Tensor& x, const Make& make) {
    const auto node_of_its_own = [](const Tensor& t) { return detach(detach(detach(detach(t)))); };
    const std::vector<Tensor> stand_ins{node_of_its_own(g), node_of_its_own(x)};
    std::vector<Tensor> out = gradients(make(stand_ins[0], stand_ins[1]), stand_ins, arrived);
    for (Tensor& one : out)
        if (one) one = replaced(one, stand_ins, {g, x});
    return out;
}

/// After the first zero of a row nothing changes the products but that zero, up to the next one. By quotients; its own
/// derivatives by products.
Tensor to_running_product(const Tensor& g, const Tensor& x, int axis) {
    Tensor zero = eq(x, 0), others = where(zero, 1, x);
    Tensor zeros = zero.cast(dtypes::int32).cumsum(axis), changes = g * others.cumprod(axis);
    const auto arrives = [&](int number) { return backward_sum(where(eq(zeros, number), changes, 0), axis); };
    Tensor value = where(zero, where(eq(zeros, 1), arrives(1), 0), arrives(0) / others);
    return with_backward(value, "running factors", {g, x}, [=, a = held(g), b = held(x)](const Tensor& arrived) {
        return made_again(arrived, a, b, [=](const Tensor& of, const Tensor& at) {
            return to_running_product_by_doubling(of, at, axis);
        });
    });
}

/// The gradients of factors as products of all others, which have derivatives of every order.
Tensor to_factors_by_products(const Tensor& g, const Tensor& x, const std::vector<int>& axes) {
    std::vector<int> order, back(x.shape().size());
    for (int i = 0; i < x.ndim(); ++i)
        if (!std::ranges::binary_search(axes, i)) order.push_back(i);
    const size_t kept = order.size();
    order.insert(order.end(), axes.begin(), axes.end());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int>(i);
    const Tensor moved = x.permute(order), rows = moved.flatten(static_cast<int>(kept), -1);
    const int last = static_cast<int>(kept);
    const Tensor others = products_before(rows, last) * products_before(rows.flip(last), last).flip(last);
    return g * others.reshape(moved.shape()).permute(back);
}

}  // namespace

// With one factor of 0 only that one changes the product. By a quotient; its own derivatives by products.
Tensor to_factors(const Tensor& g, const Tensor& x, const std::vector<int>& axes) {
    const auto everywhere = [&](const Tensor& t) { return expand_to(t, x.shape()); };
    Tensor zero = eq(x, 0), others = where(zero, 1, x);
    Tensor zeros = everywhere(zero.cast(dtypes::int32).sum(axes, true)), rest = everywhere(others.prod(axes, true));
    Tensor changes = bitwise_or(eq(zeros, 0), bitwise_and(eq(zeros, 1), zero));
    Tensor value = g * where(changes, rest / others, 0);
    return with_backward(value, "factors", {g, x}, [=, a = held(g), b = held(x)](const Tensor& arrived) {
        return made_again(arrived, a, b,
                          [=](const Tensor& of, const Tensor& at) { return to_factors_by_products(of, at, axes); });
    });
}

Tensor to_scanned(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg) {
    const int axis = arg.axes[0];
    if (arg.op == Op::add) return backward_sum(g, axis);
    if (arg.op == Op::mul) return to_running_product(g, x, axis);
    return to_running_extreme(g, y, x, arg);
}

}  // namespace strata::ops
