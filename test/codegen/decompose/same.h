#pragma once
#include <algorithm>
#include <cmath>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// NaN is NaN, zeros have their signs, other floats are `places` units in the last place of the first apart at most.
inline bool is_same(DType t, ConstArg a, ConstArg b, double places) {
    if (!t.is_float()) return a.i == b.i;
    if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) == std::isnan(b.f);
    if (a.f == b.f) return std::signbit(a.f) == std::signbit(b.f);
    int exponent = std::max(std::ilogb(a.f), 2 - (1 << (t.exponent_bits() - 1)));
    return std::fabs(a.f - b.f) <= places * std::ldexp(1.0, exponent - t.mantissa_bits());
}

}  // namespace strata::codegen
