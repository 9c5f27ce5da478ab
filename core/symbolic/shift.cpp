#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

// Index arithmetic has one spelling of a power of two: products and quotients.
bool index_by_power(const Match& t) { return is_index(t.root.dtype()) && t.value(n) >= 0 && t.value(n) < 63; }
bool natural_by_power(const Match& t) { return index_by_power(t) && proves_at_least(t[i], 0); }
UOp power(const Match& t) { return constant_int(t.root.dtype(), int64_t{1} << t.value(n)); }

}  // namespace

const RuleSet& shift_rules() {
    static const RuleSet set{
        rule({Op::shl, {i, 0}}, i),
        rule({Op::shr, {i, 0}}, i),
        rule(
            {Op::shl, {i, n}}, [](const Match& t) { return t[i] * power(t); }, index_by_power),
        rule(
            {Op::shr, {i, n}}, [](const Match& t) { return t[i] / power(t); }, natural_by_power),
    };
    return set;
}

}  // namespace strata
