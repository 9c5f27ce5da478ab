// functions: real functions of values, of ops that there are.
#include "strata/codegen/tile/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "strata/core/support/error.h"

namespace strata::lang {
namespace {

UOp like(UOp x, double value) { return constant(x.dtype(), value); }
UOp times(UOp x, double value) { return x * like(x, value); }
UOp plus_product(UOp a, UOp b, UOp c) { return alu(Op::fma, {a, b, c}); }
UOp where(UOp condition, UOp a, UOp b) { return alu(Op::where, {condition, a, b}); }
UOp is_below(UOp x, double bound) { return x < like(x, bound); }

/// f in float32 or float64, rounded once.
template <class F>
UOp in_wide(UOp x, F f) {
    const DType own = x.dtype().is_float() ? x.dtype() : dtypes::float32;
    const UOp wide = cast(x, own.bits() < 32 ? dtypes::float32 : own);
    return cast(f(wide), own);
}

constexpr double kLog2E = 0x1.715476p+0, kLn2 = 0x1.62e430p-1;

UOp machine(Op op, UOp x) { return make(op, x.dtype(), {x}); }
/// 1 / (1 + 2^x)
UOp logistic_part(UOp x) { return machine(Op::rcp_approx, like(x, 1) + machine(Op::exp2_approx, x)); }
/// Radians as turns from -1/2 to 1/2, which the instructions take.
UOp turns(UOp x) {
    const UOp t = times(x, 0.15915494309189533577);
    return t - alu(Op::rint, {t});
}

constexpr FastFunction kFast[] = {
#define FAST(name, value, relative, relative_of_x, absolute, absolute_of_x) \
    {#name, [](UOp x, [[maybe_unused]] UOp y) { return value; }, relative, relative_of_x, absolute, absolute_of_x},
#include "strata/codegen/tile/fast_functions.def"
};

}  // namespace

std::span<const FastFunction> fast_functions() { return kFast; }

const FastFunction* find_fast(std::string_view name) {
    const auto found = std::ranges::find(kFast, name, &FastFunction::name);
    return found == std::end(kFast) ? nullptr : found;
}

UOp fast(std::string_view name, UOp x, UOp y) {
    const FastFunction* const row = find_fast(name);
    if (!row) {
        std::string known;
        for (const FastFunction& f : kFast) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
        user_error(ErrorKind::Unsupported, "[lang.{}] has no instruction of the chip: fast= is for {}", name, known);
    }
    const DType own = x.dtype().is_float() ? x.dtype() : dtypes::float32;
    if (own.bits() == 64)
        user_error(ErrorKind::DType, "[lang.{}] fast= is for float32 and narrower: x.cast('float32') first", name);
    const auto single = [](UOp u) { return u ? cast(u, dtypes::float32) : u; };
    return cast(row->value(single(x), single(y)), own);
}

/// A step of Newton's method after 2^(log2(x) / 3). Where x^2 would be a denormal, x is scaled by a power of 8.
UOp cbrt(UOp given) {
    return in_wide(given, [](UOp x) {
        const bool is_double = x.dtype().bits() == 64;
        const double tiny = std::exp2(is_double ? -900 : -96);
        const int thirds = is_double ? 100 : 16;
        const UOp size = alu(Op::abs, {x}), is_tiny = is_below(size, tiny);
        const UOp scaled = where(is_tiny, times(size, std::exp2(3 * thirds)), size);
        const UOp first = alu(Op::exp2, {times(alu(Op::log2, {scaled}), 1.0 / 3)});
        const UOp square = first * first;
        const UOp rest = plus_product(square, first, alu(Op::neg, {scaled}));
        const UOp root = first - alu(Op::fdiv, {rest, times(square, 3)});
        const UOp back = where(is_tiny, times(root, std::exp2(-thirds)), root);
        const UOp with_sign = where(is_below(x, 0), alu(Op::neg, {back}), back);
        const UOp is_ordinary = alu(Op::bit_and, {like(x, 0) < size, is_below(size, INFINITY)});
        return where(is_ordinary, with_sign, x);
    });
}

/// 2 Phi(-x sqrt 2), with what the product lost put back by the density there.
UOp erfc(UOp given) {
    return in_wide(given, [](UOp x) {
        const bool is_double = x.dtype().bits() == 64;
        const long double root = 1.41421356237309504880168872420969808L;
        const double high = is_double ? static_cast<double>(root) : static_cast<float>(root);
        const auto low = static_cast<double>(root - high);
        const UOp a = times(x, high);
        const UOp lost = plus_product(x, like(x, high), alu(Op::neg, {a})) + times(x, low);
        const UOp density = times(alu(Op::exp, {times(a * a, -0.5)}), 0.39894228040143267794);
        const UOp below = alu(Op::ncdf, {alu(Op::neg, {a})});
        const UOp is_ordinary = is_below(alu(Op::abs, {x}), 64);
        return times(where(is_ordinary, below - density * lost, below), 2);
    });
}

}  // namespace strata::lang
