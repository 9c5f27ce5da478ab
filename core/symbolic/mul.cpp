#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

/// (a + b) * c -> a*c + b*c, for index arithmetic alone (linear.cpp).
UOp multiply_out(const Match& t) { return is_index(t.root.dtype()) ? build_sum(linear(t.root)) : UOp(); }

}  // namespace

const RuleSet& mul_rules() {
    static const RuleSet set{
        rule(p * q, p & q),
        rule(i * 0, 0),
        rule(i * 1, i),
        rule((i * c0) * c1, i * (c0 * c1)),
        rule((i * c) * j, (i * j) * c, [](const Match& t) { return !t[j].is_const(); }),
        rule(i * c, multiply_out),
    };
    return set;
}

}  // namespace strata
