// Gradients of extremes go to the elements that equal them. Elements that are computed again may be rounded in another
// way than those of the extreme, so that none equals it. A sum of products has one rounding or two by what its kernel
// stores. Such elements are stored here, and their extreme is taken again.
#include <utility>

#include "strata/core/uop/uop_set.h"
#include "strata/ops/autograd/gradients_p.h"
#include "strata/ops/build_p.h"

namespace strata::ops {
namespace {

/// Choices, copies and changes of sign are the same whenever they are computed.
bool is_rounded_once(UOp u) {
    switch (u.op()) {
        case Op::constant:
        case Op::buffer:
        case Op::contiguous:
        case Op::iota:
        case Op::neg:
        case Op::abs:
        case Op::max:
        case Op::min:
        case Op::where:
        case Op::cast:
        case Op::bitcast:
        case Op::detach:
        case Op::recompute: return true;
        case Op::reduce: return u.as<ReduceArg>().op == Op::max || u.as<ReduceArg>().op == Op::min;
        default: return info(u.op()).is(kMovement) || (info(u.op()).elementwise() && !u.dtype().is_float());
    }
}

bool is_same_when_computed_again(UOp value) {
    UOpSet seen;
    std::vector<UOp> left{value};
    while (!left.empty()) {
        const UOp u = left.back();
        left.pop_back();
        if (!seen.insert(u).second) continue;
        if (!is_rounded_once(u)) return false;
        if (!u.is(Op::contiguous)) left.insert(left.end(), u.src().begin(), u.src().end());
    }
    return true;
}

/// Elements and their extreme, which one of them equals.
template <class Extreme>
std::pair<Tensor, Tensor> comparable(const Tensor& x, const Tensor& y, Extreme extreme) {
    if (is_same_when_computed_again(x.value())) return {x, y};
    const Tensor stored = x.contiguous();
    return {stored, extreme(stored)};
}

}  // namespace

Tensor to_extreme(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg) {
    const auto [at, top] = comparable(x, y, [&](const Tensor& t) { return reduce(t, arg.op, arg.axes); });
    // The number of equal extremes is no number of a narrow type.
    const Tensor hit = widened(eq(at, expand_to(top, x.shape())).cast(x.dtype()));
    return (hit * expand_to(g / hit.sum(arg.axes, true), x.shape())).cast(x.dtype());
}

Tensor to_running_extreme(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg) {
    const int axis = arg.axes[0];
    const auto [at, top] =
        comparable(x, y, [&](const Tensor& t) { return arg.op == Op::max ? t.cummax(axis) : t.cummin(axis); });
    Tensor place = expand_to(iota_along(x.shape(), axis), x.shape());
    Tensor chosen = bitwise_or(eq(at, top), at.isnan());
    return like(g, 0).scatter_add(axis, where(chosen, place, 0).cummax(axis), g);
}

}  // namespace strata::ops
