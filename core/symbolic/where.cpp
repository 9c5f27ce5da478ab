#include "strata/core/symbolic/given_p.h"
#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

UOp branch_given_condition(const Match& t) {
    if (!is_index(t.root.dtype())) return {};
    UOp branch = simplify_given(t[i], t[p]);
    return branch == t[i] ? UOp() : alu(Op::where, {t[p], branch, t[j]});
}

}  // namespace

const RuleSet& where_rules() {
    static const RuleSet set{
        rule(where(1, x, y), x),
        rule(where(0, x, y), y),
        rule(where(p, x, x), x),
        rule(where(!p, x, y), where(p, y, x)),
        rule(where(p, 1, 0), p, [](const Match& t) { return t.root.dtype().is_bool(); }),
        rule(where(p, 0, 1), !p, [](const Match& t) { return t.root.dtype().is_bool(); }),
        rule(where(p, q, 0), p & q),
        rule(where(p, q, 1), (!p) | q),
        rule(where(p, 1, q), p | q),
        rule(where(p, 0, q), (!p) & q),
        rule(where(p, where(p, x, y), z), where(p, x, z)),
        rule(where(p, x, where(p, y, z)), where(p, x, z)),
        rule(where(p, i, j), branch_given_condition),
        rule(where(p, where(q, x, y), y), where(p & q, x, y)),
        rule(where(p, x, where(q, x, y)), where(p | q, x, y)),
    };
    return set;
}

}  // namespace strata
