#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

// Functions made of others, of float32 and float64 (signs and neighbours of every float): what rows of elementwise.def
// with these names compute. Their branches give finite values everywhere, so that what where() leaves out harms no
// gradient.

Tensor sinh_of(const Tensor& x);
Tensor cosh_of(const Tensor& x);
Tensor asin_of(const Tensor& x);
Tensor acos_of(const Tensor& x);
Tensor atan_of(const Tensor& x);
Tensor asinh_of(const Tensor& x);
Tensor acosh_of(const Tensor& x);
Tensor atanh_of(const Tensor& x);
Tensor atan2_of(const Tensor& y, const Tensor& x);
Tensor hypot_of(const Tensor& a, const Tensor& b);
Tensor logaddexp_of(const Tensor& a, const Tensor& b);
Tensor softplus_of(const Tensor& x);
// x times a step, with the limits of values and slopes at both infinities.
Tensor silu_of(const Tensor& x);
Tensor gelu_of(const Tensor& x);
Tensor gelu_tanh_of(const Tensor& x);
Tensor normal_density(const Tensor& x);
Tensor sign_bit(const Tensor& x);
Tensor with_sign_of(const Tensor& magnitude, const Tensor& sign);
Tensor next_after(const Tensor& x, const Tensor& toward);

}  // namespace strata::ops
