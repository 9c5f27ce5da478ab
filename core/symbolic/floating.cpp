#include <cmath>

#include "strata/core/symbolic/rules_p.h"

// Only what holds for every float, with its zeros of two signs, infinities and NaN. The sign and payload of a NaN are
// nobody's promise.

namespace strata {
namespace {

using namespace vocabulary;

/// f / c is f * (1/c) where both are powers of two that the type holds as normal numbers.
UOp by_reciprocal(const Match& t) {
    DType type = t.root.dtype();
    double divisor = const_value(t[c]), inverse = 1 / divisor;
    int exponent;
    if (!std::isfinite(divisor) || std::fabs(std::frexp(divisor, &exponent)) != 0.5) return {};
    const int largest = (1 << (type.exponent_bits() - 1)) - 2;
    if (exponent - 1 > largest || exponent - 1 < -largest || round_to(type, inverse) != inverse) return {};
    return t[f] * constant(type, inverse);
}

}  // namespace

const RuleSet& float_rules() {
    static const RuleSet set{
        rule(f * 1, f),
        rule(f * -1, -f),
        rule(f + -0.0, f),
        rule(f - 0, f),  // -0 - +0 is -0
        rule(-0.0 - f, -f),
        rule(-(-f), f),
        rule(-f * -g, f * g),
        rule(-f * c, f * -c),
        rule(f + -g, f - g),
        rule(f - -g, f + g),
        rule(fdiv(f, 1), f),
        rule(fdiv(f, -1), -f),
        rule(fdiv(f, c), by_reciprocal),
        rule({Op::abs, {-f}}, {Op::abs, {f}}),
        rule({Op::abs, {as(g, {Op::abs, {f}})}}, g),
        rule({Op::fma, {f, 1, g}}, f + g),
        rule({Op::fma, {f, g, -0.0}}, f * g),
        rule({Op::floor, {as(g, {Op::floor, {f}})}}, g),
        rule({Op::ceil, {as(g, {Op::ceil, {f}})}}, g),
        rule({Op::trunc, {as(g, {Op::trunc, {f}})}}, g),
        rule({Op::rint, {as(g, {Op::rint, {f}})}}, g),
    };
    return set;
}

}  // namespace strata
