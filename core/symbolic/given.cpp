#include "strata/core/symbolic/given_p.h"

#include <algorithm>

#include "strata/core/symbolic/division_p.h"

namespace strata {
namespace {

/// A fact that a condition gives about a sum: low <= sum of the terms <= high.
struct Fact {
    std::vector<Term> terms;
    Bounds is;
};

bool same_terms(const std::vector<Term>& a, const std::vector<Term>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Term& s, const Term& t) { return s.base == t.base && s.factor == t.factor; });
}

/// From x < n or n < x; the sum of x is exact, so its constant moves to the other side.
void learn(UOp part, std::vector<Fact>& facts) {
    if (!part.is(Op::cmplt) || !is_index(part.src(0).dtype())) return;
    const bool upper = part.src(1).is_const();
    if (!upper && !part.src(0).is_const()) return;
    UOp of = part.src(upper ? 0 : 1);
    Linear sum = linear(of);
    if (sum.is_constant()) return;
    int64_t limit;
    if (__builtin_sub_overflow(const_int(part.src(upper ? 1 : 0)), sum.constant, &limit)) return;
    if (limit == int_min(of.dtype()) || limit == int_max(of.dtype())) return;
    sum.constant = 0;
    Bounds is = sum_bounds(sum).value_or(Bounds{int_min(of.dtype()), int_max(of.dtype())});
    if (upper)
        is.high = std::min(is.high, limit - 1);
    else
        is.low = std::max(is.low, limit + 1);
    for (Fact& known : facts)
        if (same_terms(known.terms, sum.terms)) {
            known.is = {std::max(known.is.low, is.low), std::min(known.is.high, is.high)};
            return;
        }
    facts.push_back({std::move(sum.terms), is});
}

void learn_all(UOp condition, std::vector<Fact>& facts) {
    if (!condition.is(Op::bit_and)) return learn(condition, facts);
    learn_all(condition.src(0), facts);
    learn_all(condition.src(1), facts);
}

bool is_division(UOp u) {
    return (u.is(Op::idiv) || u.is(Op::mod)) && is_index(u.dtype()) && is_positive_const(u.src(1));
}

/// Range of a sum where the facts hold; empty when it does not fit 64 bits.
std::optional<Bounds> bounds_given(const Linear& sum, const std::vector<Fact>& facts) {
    __int128 low = sum.constant, high = sum.constant;
    for (const Term& t : sum.terms) {
        Bounds b = bounds(t.base);
        for (const Fact& fact : facts)
            if (fact.terms.size() == 1 && fact.terms[0].base == t.base && fact.terms[0].factor == 1) b = fact.is;
        __int128 s = __int128(b.low) * t.factor, e = __int128(b.high) * t.factor;
        low += std::min(s, e);
        high += std::max(s, e);
    }
    for (const Fact& fact : facts)
        if (same_terms(fact.terms, sum.terms)) {
            low = std::max(low, __int128(fact.is.low) + sum.constant);
            high = std::min(high, __int128(fact.is.high) + sum.constant);
        }
    if (low < int_min(sum.type) || high > int_max(sum.type) || low > high) return {};
    return Bounds{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

/// A division whose dividend the facts keep natural, or below the divisor.
UOp divide_given(UOp u, const std::vector<Fact>& facts) {
    std::optional<Bounds> b = bounds_given(linear(u.src(0)), facts);
    if (!b || b->low < 0) return {};
    const int64_t divisor = const_int(u.src(1));
    if (b->high < divisor) return u.is(Op::mod) ? u.src(0) : constant_int(u.dtype(), 0);
    return u.is(Op::mod) ? take_remainder(u.src(0), divisor, true) : divide(u.src(0), divisor, true);
}

}  // namespace

UOp simplify_given(UOp value, UOp condition) {
    std::vector<UOp> nodes = toposort(value, [](UOp u) { return u.is(Op::load); });
    if (std::none_of(nodes.begin(), nodes.end(), is_division)) return value;
    std::vector<Fact> facts;
    learn_all(condition, facts);
    if (facts.empty()) return value;
    UOpMap<UOp> replaced;
    for (UOp u : nodes)
        if (is_division(u))
            if (UOp simpler = divide_given(u, facts)) replaced.emplace(u, simpler);
    return replaced.empty() ? value : substitute(value, replaced);
}

}  // namespace strata
