#pragma once

/// The coefficients of polynomials.def.
namespace strata::codegen::polynomials {
#define POLYNOMIAL(name, ...) inline constexpr double name[] = {__VA_ARGS__};
#include "strata/codegen/decompose/polynomials.def"
#undef POLYNOMIAL
}  // namespace strata::codegen::polynomials
