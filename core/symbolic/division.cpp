#include "strata/core/symbolic/division_p.h"

#include <algorithm>

namespace strata {
namespace {

/// The sum and its range, where the algebra of floors may be used: exact, and never negative.
std::optional<Linear> natural_sum(UOp x, bool known) {
    if (!known && !proves_at_least(x, 0)) return {};
    Linear sum = linear(x);
    if (!is_exact(sum)) return {};
    return sum;
}

UOp times(UOp u, int64_t factor) { return factor == 1 ? u : u * constant_int(u.dtype(), factor); }

bool is_natural(const std::optional<Bounds>& b) { return b && b->low >= 0; }

/// Remainders of multiples of c inside a sum of naturals may be taken off: they change it by multiples of c.
bool drop_inner_remainders(Linear& sum, int64_t c) {
    bool dropped = false;
    for (Term& t : sum.terms) {
        if (t.factor <= 0 || !t.base.is(Op::mod) || !is_positive_const(t.base.src(1)) ||
            !proves_at_least(t.base.src(0), 0))
            continue;
        __int128 step = __int128(t.factor) * const_int(t.base.src(1));
        if (step % c) continue;
        t.base = t.base.src(0);
        dropped = true;
    }
    return dropped;
}

}  // namespace

UOp divide(UOp x, int64_t c, bool natural_x) {
    Linear sum = linear(x);
    const bool multiple =
        is_exact(sum) && sum.constant % c == 0 &&
        std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Term& t) { return t.factor % c == 0; });
    Split split = split_by(sum, c);
    if (multiple) return build_sum(split.whole);
    std::optional<Linear> natural = natural_sum(x, natural_x);
    if (!natural) return {};
    if (!split.whole.terms.empty() || split.whole.constant) {
        std::optional<Bounds> rest = sum_bounds(split.rest);
        if (is_natural(rest) && is_exact(split.rest) && is_exact(split.whole)) {
            UOp whole = build_sum(split.whole);
            return rest->high < c ? whole : whole + build_sum(split.rest) / constant_int(x.dtype(), c);
        }
    }
    // x == g * a + b with 0 <= b < g and g a divisor of c: x / c == a / (c / g).
    for (int64_t g : common_divisors(sum, c)) {
        Split by = split_by(sum, g);
        std::optional<Bounds> rest = sum_bounds(by.rest);
        if (is_natural(rest) && rest->high < g && is_exact(by.whole))
            return build_sum(by.whole) / constant_int(x.dtype(), c / g);
    }
    return {};
}

UOp take_remainder(UOp x, int64_t c, bool natural_x) {
    std::optional<Linear> natural = natural_sum(x, natural_x);
    if (!natural) return {};
    Linear& sum = *natural;
    UOp divisor = constant_int(x.dtype(), c);
    Split split = split_by(sum, c);
    if (!split.whole.terms.empty() || split.whole.constant) {
        std::optional<Bounds> rest = sum_bounds(split.rest);
        if (is_natural(rest) && is_exact(split.rest))
            return rest->high < c ? build_sum(split.rest) : build_sum(split.rest) % divisor;
    }
    // Factors beyond the divisor shrink to their remainder, as long as the sum stays natural.
    Linear smaller = split.rest;
    bool shrunk = false;
    for (Term& t : smaller.terms) {
        shrunk |= t.factor / c != 0;
        t.factor %= c;
    }
    if (shrunk && is_natural(sum_bounds(smaller)) && is_exact(smaller)) return build_sum(smaller) % divisor;
    if (drop_inner_remainders(sum, c) && is_natural(sum_bounds(sum)) && is_exact(sum))
        return build_sum(linear(build_sum(sum))) % divisor;
    sum = *natural_sum(x, natural_x);
    for (int64_t g : common_divisors(sum, c)) {
        Split by = split_by(sum, g);
        std::optional<Bounds> rest = sum_bounds(by.rest);
        if (!is_natural(rest) || rest->high >= g || !is_exact(by.whole)) continue;
        UOp out = times(build_sum(by.whole) % constant_int(x.dtype(), c / g), g);
        return rest->high == 0 ? out : out + build_sum(by.rest);
    }
    return {};
}

}  // namespace strata
