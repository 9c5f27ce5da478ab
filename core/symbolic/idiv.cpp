#include "strata/core/symbolic/division_p.h"
#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

bool positive(const Match& t) { return is_positive_const(t[n]); }

bool product_fits(const Match& t) {
    int64_t product;
    return is_positive_const(t[n]) && is_positive_const(t[m]) &&
           !__builtin_mul_overflow(t.value(n), t.value(m), &product) && product <= int_max(t.root.dtype());
}

/// (x % n) / m with n a multiple of m.
UOp quotient_of_remainder(const Match& t) {
    int64_t a = t.value(n), b = t.value(m);
    if (a <= 0 || b <= 0 || a % b) return {};
    return t[i] / t[m] % constant_int(t.root.dtype(), a / b);
}

}  // namespace

const RuleSet& idiv_rules() {
    static const RuleSet set{
        rule(i / 1, i),
        rule((i / n) / m, i / (n * m), product_fits),
        rule((i % n) / m, quotient_of_remainder),
        rule(
            i / n, [](const Match& t) { return divide(t[i], t.value(n)); }, positive),
    };
    return set;
}

}  // namespace strata
