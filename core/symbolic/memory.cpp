#include "strata/core/symbolic/given_p.h"
#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

/// Where the predicate is false the offset does not matter.
UOp offset_given_predicate(const Match& t) {
    UOp offset = simplify_given(t[i], t[p]);
    return offset == t[i] ? UOp() : make(Op::index, t.root.dtype(), {t[x], offset, t[p]}, t.root.arg());
}

// Predicates that are decided disappear from loads.
UOp open_load(const Match& t) {
    UOp place = t.root.src(0);
    if (!place.is(Op::index)) return {};
    if (place.src().size() == 2) return make(Op::load, t.root.dtype(), {place});
    UOp predicate = place.src(2);
    if (predicate.is_const(1))
        return make(Op::load, t.root.dtype(),
                    {make(Op::index, place.dtype(), {place.src(0), place.src(1)}, place.arg())});
    return predicate.is_const(0) && t.root.src(1).dtype() == t.root.dtype() ? t.root.src(1) : UOp();
}

/// An index that is known to be in its axis needs no check.
UOp known_index(const Match& t) {
    Bounds is = bounds(t[i]);
    int64_t size = const_int(t[n]);
    if (size < 1 || (is.low < 0 && is.high >= 0)) return {};
    if (is.low >= 0) return proves_less(t[i], size) ? t[i] : UOp();
    return is.low >= -size ? t[i] + size : UOp();
}

}  // namespace

const RuleSet& memory_rules() {
    static const RuleSet set{
        rule({Op::bounded, {i, n, m}}, known_index),
        rule({Op::index, {x, i, 1}},
             [](const Match& t) { return make(Op::index, t.root.dtype(), {t[x], t[i]}, t.root.arg()); }),
        rule({Op::index, {x, i, p}}, offset_given_predicate),
        rule({Op::load, {x, y}}, open_load),
    };
    return set;
}

}  // namespace strata
