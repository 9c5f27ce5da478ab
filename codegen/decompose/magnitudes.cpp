#include <algorithm>
#include <cmath>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr int kMostLevels = 8;         // that are looked through
constexpr double kRounded = 1 + 1e-6;  // an operation of float32, and of float64, adds less

double largest_of_integer(UOp x) {
    const Bounds b = bounds(x);
    if (b.high == INT64_MAX) return kInfinity;
    return std::max(std::fabs(static_cast<double>(b.low)), std::fabs(static_cast<double>(b.high)));
}

/// NaN, as of 0 times infinity, stays.
double larger(double a, double b) { return a <= b ? b : b <= a ? a : kInfinity; }

double largest(UOp x, int levels) {
    if (x.is_const()) return std::isnan(const_value(x)) ? kInfinity : std::fabs(const_value(x));
    if (!x.dtype().is_float()) return largest_of_integer(x);
    if (levels == 0) return kInfinity;
    const auto source = [&](int i) { return largest(x.src(i), levels - 1); };
    switch (x.op()) {
        case Op::cast: return source(0) * kRounded;
        case Op::neg:
        case Op::abs: return source(0);
        case Op::add:
        case Op::sub: return (source(0) + source(1)) * kRounded;
        case Op::mul: return source(0) * source(1) * kRounded;
        case Op::fma: return (source(0) * source(1) + source(2)) * kRounded;
        case Op::where: return larger(source(1), source(2));
        default: return kInfinity;
    }
}

}  // namespace

bool is_at_most(UOp x, double limit) { return largest(x, kMostLevels) <= limit; }

}  // namespace strata::codegen
