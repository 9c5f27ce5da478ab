#include <algorithm>

#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

int64_t wrapped_product(DType t, int64_t a, int64_t b) {
    return wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
}

bool is_division(UOp u, Op op) { return u.is(op) && is_positive_const(u.src(1)); }

/// Is `u` x / divisor? Divisions of divisions are one division by then.
bool is_quotient(UOp u, UOp x, int64_t divisor) {
    if (!is_division(u, Op::idiv)) return false;
    if (u.src(0) == x) return const_int(u.src(1)) == divisor;
    int64_t product;
    return is_division(x, Op::idiv) && u.src(0) == x.src(0) &&
           !__builtin_mul_overflow(const_int(x.src(1)), divisor, &product) && const_int(u.src(1)) == product;
}

/// True if a % n == b % n by their form, as where one of them was taken modulo n term by term.
bool has_same_remainder(UOp a, UOp b, int64_t n) {
    if (bounds(a).low < 0 || bounds(b).low < 0) return false;
    const Linear x = linear(a), y = linear(b);
    if (!is_exact(x) || !is_exact(y) || floor_mod(x.constant, n) != floor_mod(y.constant, n)) return false;
    const auto factor_of = [](const Linear& sum, UOp base) {
        const auto found = std::ranges::find(sum.terms, base, &Term::base);
        return found == sum.terms.end() ? 0 : found->factor;
    };
    const auto same = [&](const Linear& of, const Linear& other) {
        return std::ranges::all_of(
            of.terms, [&](const Term& t) { return floor_mod(t.factor, n) == floor_mod(factor_of(other, t.base), n); });
    };
    return same(x, y) && same(y, x);
}

/// The dividend of x / n, where that is `u`: x, or a value of the same remainder. Empty: it is no such quotient.
UOp dividend(UOp u, UOp x, int64_t n) {
    if (is_quotient(u, x, n)) return x;
    const bool divides = is_division(u, Op::idiv) && const_int(u.src(1)) == n;
    return divides && has_same_remainder(u.src(0), x, n) ? u.src(0) : UOp();
}

/// x % n + n * (x / n) -> x, and x % n + n * (x / n % b) -> x % (n * b), for truncating division of any sign.
bool join_remainder(Linear& sum) {
    for (size_t low = 0; low < sum.terms.size(); ++low) {
        auto [remainder, factor] = sum.terms[low];
        if (!is_division(remainder, Op::mod)) continue;
        UOp x = remainder.src(0);
        const int64_t n = const_int(remainder.src(1));
        for (size_t high = 0; high < sum.terms.size(); ++high) {
            UOp u = sum.terms[high].base;
            if (sum.terms[high].factor != wrapped_product(sum.type, factor, n)) continue;
            UOp joined;
            int64_t both;
            if (UOp all = dividend(u, x, n))
                joined = all;
            else if (UOp part = is_division(u, Op::mod) ? dividend(u.src(0), x, n) : UOp();
                     part && !__builtin_mul_overflow(n, const_int(u.src(1)), &both) && both <= int_max(sum.type))
                joined = part % constant_int(part.dtype(), both);
            if (!joined) continue;
            sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(std::max(low, high)));
            sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(std::min(low, high)));
            sum.terms.push_back({joined, factor});
            return true;
        }
    }
    return false;
}

UOp canonical_sum(const Match& t) {
    Linear sum = linear(t.root);
    UOp out = is_built_of(t.root, sum) ? t.root : build_sum(sum);
    while (join_remainder(sum)) {
        out = build_sum(sum);
        sum = linear(out);
        out = build_sum(sum);
    }
    return out;
}

UOp index_only(const Match& t) { return is_index(t.root.dtype()) ? build_sum(linear(t.root)) : UOp(); }

}  // namespace

const RuleSet& add_rules() {
    static const RuleSet set{
        rule(p + q, p | q),  // bool arithmetic is arithmetic != 0
        rule(p - q, p ^ q),
        rule(-p, p),
        rule(i + j, canonical_sum),
        rule(i - j, index_only),
        rule(-i, index_only),
        rule(i - i, 0),
        rule(i - 0, i),
        rule((i - j) + j, i),
        rule((i + j) - j, i),
        rule(as(k, -i) + j, j - i),
        rule(i - (-j), i + j),
        rule(-(-i), i),
        rule(-(i - j), j - i),
    };
    return set;
}

}  // namespace strata
