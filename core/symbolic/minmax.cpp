#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

bool surely_at_most(UOp a, UOp b) {
    if (!a.dtype().is_integer()) return false;
    Bounds high = bounds(a), low = bounds(b);
    return high.high <= low.low && proves_less(a, int_max(dtypes::int64));
}
bool i_at_most_j(const Match& t) { return surely_at_most(t[i], t[j]); }
bool j_at_most_i(const Match& t) { return surely_at_most(t[j], t[i]); }

}  // namespace

const RuleSet& minmax_rules() {
    static const RuleSet set{
        rule(max(p, q), p | q),
        rule(min(p, q), p & q),
        rule(max(x, x), x),
        rule(min(x, x), x),
        rule(max(i, j), j, i_at_most_j),
        rule(max(i, j), i, j_at_most_i),
        rule(min(i, j), i, i_at_most_j),
        rule(min(i, j), j, j_at_most_i),
        rule(max(max(x, c0), c1), max(x, max(c0, c1))),
        rule(min(min(x, c0), c1), min(x, min(c0, c1))),
        rule(max(max(x, y), y), max(x, y)),
        rule(min(min(x, y), y), min(x, y)),
    };
    return set;
}

}  // namespace strata
