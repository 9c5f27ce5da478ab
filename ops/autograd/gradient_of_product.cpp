#include "strata/core/uop/uop.h"
#include "strata/ops/autograd/gradients_p.h"

namespace strata::ops {
namespace {

/// The number that each element is; empty: they are others.
UOp number_everywhere(UOp u) {
    while (u.is(Op::expand) || u.is(Op::reshape) || u.is(Op::permute) || u.is(Op::cast)) u = u.src(0);
    return u.is_const() ? u : UOp();
}

}  // namespace

Tensor times(const Tensor& g, const Tensor& x) {
    const UOp factor = number_everywhere(g.value());
    const bool is_same = factor && factor.is_const(1) && g.dtype() == x.dtype() && g.shape() == x.shape();
    return is_same && !number_everywhere(x.value()) ? x : g * x;
}

}  // namespace strata::ops
