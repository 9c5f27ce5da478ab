#include <numeric>

#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

/// sum < limit as whole < limit, with constants and common factors taken out. Empty when nothing can be.
struct Limit {
    Linear whole;
    int64_t limit;
};

bool is_natural_below(const Linear& rest, int64_t g, Bounds& out) {
    std::optional<Bounds> b = sum_bounds(rest);
    if (!b || b->low < 0 || b->high >= g) return false;
    out = *b;
    return true;
}

std::optional<Limit> tightened(Linear sum, int64_t limit) {
    if (sum.is_constant() || !is_exact(sum)) return {};
    bool changed = sum.constant != 0;
    if (__builtin_sub_overflow(limit, sum.constant, &limit)) return {};
    sum.constant = 0;
    if (!is_exact(sum)) return {};
    // sum == g * whole + rest with 0 <= rest < g, and limit == g * q + t. Then sum < limit is whole < q, or whole < q +
    // 1 when every rest is below t. `with` 0: the gcds are the factors themselves.
    for (int64_t g : common_divisors(sum, 0)) {
        Split by = split_by(sum, g);
        Bounds rest;
        if (!is_natural_below(by.rest, g, rest) || !is_exact(by.whole)) continue;
        int64_t quotient = floor_div(limit, g), t = floor_mod(limit, g);
        if (rest.high >= t && rest.low < t) continue;
        std::optional<Limit> further = tightened(by.whole, quotient + (rest.high < t));
        return further ? further : Limit{by.whole, quotient + (rest.high < t)};
    }
    if (!changed) return {};
    return Limit{sum, limit};
}

bool type_holds(DType t, int64_t value) { return value >= int_min(t) && value <= int_max(t); }

bool only_negative_factors(const Linear& sum) {
    for (const Term& t : sum.terms)
        if (t.factor >= 0 || t.factor == int_min(dtypes::int64)) return false;
    return !sum.is_constant();
}

/// whole < limit as a node; -whole < limit reads -limit < whole.
UOp below(Linear whole, int64_t limit, DType type) {
    if (only_negative_factors(whole)) {
        for (Term& t : whole.terms) t.factor = -t.factor;
        if (!type_holds(type, -limit) || limit == int_min(dtypes::int64) || !is_exact(whole)) return {};
        return constant_int(type, -limit) < build_sum(whole);
    }
    if (!type_holds(type, limit)) return {};
    return build_sum(whole) < constant_int(type, limit);
}

UOp less_than_constant(const Match& t) {
    DType type = t[i].dtype();
    Linear sum = linear(t[i]);
    if (std::optional<Limit> l = tightened(sum, t.value(n))) return below(l->whole, l->limit, type);
    return sum.constant == 0 && is_exact(sum) && only_negative_factors(sum) ? below(sum, t.value(n), type) : UOp();
}

/// n < i is !(i < n + 1).
UOp greater_than_constant(const Match& t) {
    DType type = t[i].dtype();
    int64_t next;
    if (__builtin_add_overflow(t.value(n), 1, &next)) return {};
    Linear sum = linear(t[i]);
    std::optional<Limit> l = tightened(sum, next);
    bool flip = only_negative_factors(l ? l->whole : sum) && is_exact(sum) && (l || sum.constant == 0);
    if (!l && !flip) return {};
    Linear whole = l ? l->whole : sum;
    int64_t limit = l ? l->limit : next;
    if (limit == int_min(dtypes::int64)) return {};
    if (flip) {  // !(-w < limit) is -limit >= w, w < -limit + 1
        for (Term& term : whole.terms) term.factor = -term.factor;
        return is_exact(whole) && limit - 1 != int_min(dtypes::int64) && type_holds(type, 1 - limit)
                   ? build_sum(whole) < constant_int(type, 1 - limit)
                   : UOp();
    }
    return type_holds(type, limit - 1) ? constant_int(type, limit - 1) < build_sum(whole) : UOp();
}

/// The bounds of i - j, when both and their difference are exact.
std::optional<Bounds> difference(const Match& t) {
    Linear a = linear(t[i]), b = linear(t[j]);
    if (!is_exact(a) || !is_exact(b)) return {};
    Linear d{a.type, a.terms, 0};
    if (__builtin_sub_overflow(a.constant, b.constant, &d.constant)) return {};
    for (const Term& other : b.terms) {
        bool found = false;
        for (Term& term : d.terms)
            if (term.base == other.base) {
                if (__builtin_sub_overflow(term.factor, other.factor, &term.factor)) return {};
                found = true;
            }
        if (other.factor == int_min(dtypes::int64)) return {};
        if (!found) d.terms.push_back({other.base, -other.factor});
    }
    return sum_bounds(d);
}

UOp truth(const Match& t, bool value) { return constant_int(t.root.dtype(), value); }

UOp less_by_difference(const Match& t) {
    std::optional<Bounds> d = difference(t);
    if (d && d->high < 0) return truth(t, true);
    return d && d->low >= 0 ? truth(t, false) : UOp();
}

/// a + 3 < b + 1 is a + 2 < b: of the constants of two sums one is left.
UOp one_constant(const Match& t) {
    Linear a = linear(t[i]), b = linear(t[j]);
    if (!a.constant || !b.constant || a.is_constant() || b.is_constant() || !is_exact(a) || !is_exact(b)) return {};
    int64_t more;
    if (__builtin_sub_overflow(a.constant, b.constant, &more) || more == int_min(dtypes::int64)) return {};
    a.constant = std::max<int64_t>(more, 0);
    b.constant = std::max<int64_t>(-more, 0);
    return is_exact(a) && is_exact(b) ? build_sum(a) < build_sum(b) : UOp();
}

UOp equal_by_difference(const Match& t) {
    std::optional<Bounds> d = difference(t);
    if (!d || (d->low <= 0 && d->high >= 0)) return {};
    return truth(t, t.root.is(Op::cmpne));
}

/// i + a == b is i == b - a, modulo 2^bits; a common factor that the constant lacks decides.
UOp equal_constant(const Match& t) {
    Linear sum = linear(t[i]);
    if (sum.is_constant()) return {};
    const bool exact = is_exact(sum);
    auto compare = [&](const Linear& whole, int64_t value) {
        return alu(t.root.op(), {build_sum(whole), constant_int(t[i].dtype(), value)});
    };
    int64_t limit = wrap_to(
        sum.type, static_cast<int64_t>(static_cast<uint64_t>(t.value(n)) - static_cast<uint64_t>(sum.constant)));
    bool changed = sum.constant != 0;
    sum.constant = 0;
    int64_t g = 0;
    for (const Term& term : sum.terms) g = std::gcd(g, term.factor);
    if (g > 1 && exact && is_exact(sum)) {
        if (limit % g) return truth(t, t.root.is(Op::cmpne));
        return compare(split_by(sum, g).whole, limit / g);
    }
    return changed ? compare(sum, limit) : UOp();
}

bool is_float(const Match& t) { return t[x].dtype().is_float(); }

}  // namespace

const RuleSet& compare_rules() {
    static const RuleSet set{
        rule(i < i, 0),
        rule(i == i, 1),
        rule(i != i, 0),
        rule(p == p, 1),
        rule(p != p, 0),
        rule(x < x, 0, is_float),  // NaN is not below itself either
        rule(i < n, less_than_constant),
        rule(n < i, greater_than_constant),
        rule(i < j, less_by_difference),
        rule(i < j, one_constant),
        rule(i == n, equal_constant),
        rule(i != n, equal_constant),
        rule(i == j, equal_by_difference),
        rule(i != j, equal_by_difference),
        rule(p == 1, p),
        rule(p == 0, !p),
        rule(p != 0, p),
        rule(p != 1, !p),
        rule(p < q, (!p) & q),
    };
    return set;
}

}  // namespace strata
