#include "strata/core/symbolic/division_p.h"
#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

bool positive(const Match& t) { return is_positive_const(t[n]); }

bool fits_already(const Match& t) {
    Bounds b = bounds(t[i]);
    return t.value(n) > 0 && proves_less(t[i], t.value(n)) && b.low > -t.value(n);
}

bool outer_divides_inner(const Match& t) { return t.value(m) > 0 && t.value(n) > 0 && t.value(n) % t.value(m) == 0; }

/// Neighbouring quotients are one: x in [n*q, n*q + n) has remainder x - n*q.
UOp minus_constant_quotient(const Match& t) {
    Bounds b = bounds(t[i]);
    const int64_t d = t.value(n);
    if (d <= 0 || b.low < 0 || !proves_less(t[i], int_max(dtypes::int64)) || b.high / d != b.low / d) return {};
    const int64_t quotient = b.low / d;
    return t[i] + constant_int(t.root.dtype(), -quotient * d);
}

}  // namespace

const RuleSet& mod_rules() {
    static const RuleSet set{
        rule(i % 1, 0),
        rule(i % n, i, fits_already),
        rule((i % n) % m, i % m, outer_divides_inner),
        rule(i % n, minus_constant_quotient),
        rule(
            i % n, [](const Match& t) { return take_remainder(t[i], t.value(n)); }, positive),
    };
    return set;
}

}  // namespace strata
