#pragma once
#include <string_view>

#include "strata/ops/tensor.h"

namespace strata::ops {

/// A complex value: two tensors of one shape and type, float32 or float64. `im` is empty for a real operand that meets
/// a complex one. It has no imaginary part, not one of 0, which would make NaN of infinities.
struct Parts {
    Tensor re, im;
};

/// f of the parts of a complex tensor, or of the real parts of several, as one tensor.
template <class F>
Tensor each_part(const Tensor& x, F f) {
    return Tensor::of_parts(f(x.real()), f(x.imag()));
}

inline bool is_complex(const Operand& x) {
    return x.tensor() ? x.tensor()->is_complex() : x.number().kind == Kind::Complex;
}

// Values of rows of elementwise.def for complex operands, by the rows of complex.def. DType error for what has no row.
Tensor complex_value(std::string_view name, const Tensor& x);
Tensor complex_value(std::string_view name, const Operand& a, const Operand& b);
Tensor complex_where(const Tensor& condition, const Operand& a, const Operand& b);
Tensor complex_cast(const Tensor& x, DType to);  ///< to or from a complex type
Tensor complex_matmul(const Tensor& a, const Tensor& b);
Tensor complex_pad(const Tensor& x, const Pairs& padding, Number fill);
Tensor complex_prod(const Tensor& x, const std::vector<int>& axes, bool keepdims);  ///< of some, by halves
Tensor complex_cumprod(const Tensor& x, int axis);           ///< in steps of 1, 2, 4, ... (Hillis and Steele, 1986)
void check_ordered(std::string_view name, const Tensor& x);  ///< DType error for complex ones

// complex_functions.cpp: with the special values that the Python array API 2024.12 lists for each (those of C11, annex
// G).
Parts divided(const Parts& a, const Parts& b);
Parts inverse(const Parts& z);  ///< of the conjugate the conjugate, by the signs of zeros too
Parts sqrt_of(const Parts& z);
Parts exp_of(const Parts& z);
Parts expm1_of(const Parts& z);
Parts log_of(const Parts& z);
Parts log1p_of(const Parts& z);
Parts sinh_of(const Parts& z);
Parts cosh_of(const Parts& z);
Parts tanh_of(const Parts& z);
Parts asinh_of(const Parts& z);
Parts acosh_of(const Parts& z);
Parts atanh_of(const Parts& z);
Parts asin_of(const Parts& z);
Parts acos_of(const Parts& z);
Parts power_of(const Parts& a, const Parts& b);
// The slope for tensors one of which may be real.
Tensor slope_by_base(const Tensor& a, const Tensor& b);
Tensor slope_by_exponent(const Tensor& a, const Tensor& y);
Parts sign_of(const Parts& z);
Parts times_i(const Parts& z);
Parts over_i(const Parts& z);

}  // namespace strata::ops
