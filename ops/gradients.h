#pragma once
#include <vector>

#include "strata/ops/tensor.h"

namespace strata::ops {

/// The gradients of y by each of xs: the products of `seed` (of y's shape; 1 everywhere when empty) with y's
/// derivatives. They are computed by reverse accumulation over the graph (Griewank and Walther, Evaluating Derivatives,
/// ch. 3). The results are graphs too, with derivatives of their own. The walk stops at each of xs and does not look at
/// its history. Empty for one that y does not depend on. At a kink the derivative is one of those beside it, or between
/// them: rows of gradients.def say which.
///
/// Errors: DType for y or one of xs that is not floating. Shape for a seed of another shape. Unsupported, with the
/// operation, where there is no derivative.
std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs, const Tensor& seed = Tensor());

/// The same values, through which no gradient goes. Costs nothing: kernels do not see it.
Tensor detach(const Tensor& x);
/// The same of one real tensor; its users are computed by themselves, though x has the same users.
Tensor recompute(const Tensor& x);

/// True if a gradient of x could be asked for.
bool wants_gradient(const Tensor& x);

/// For functions of tensors. stand_in is the value of x as a node of its own that requires a gradient. The other is a
/// result with other nodes in place of such nodes.
Tensor stand_in(const Tensor& x);
Tensor replaced(const Tensor& t, const std::vector<Tensor>& stand_ins, const std::vector<Tensor>& originals);

}  // namespace strata::ops
