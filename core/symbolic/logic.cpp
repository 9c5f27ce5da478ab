#include <algorithm>

#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

void flatten(UOp u, Op op, std::vector<UOp>& out) {
    if (!u.is(op)) return out.push_back(u);
    flatten(u.src(0), op, out);
    flatten(u.src(1), op, out);
}

/// i < n, or n < i: a bound on i that the other kind meets in the middle.
struct Side {
    UOp of;
    int64_t limit;
    bool upper;
};
std::optional<Side> side(UOp u) {
    if (!u.is(Op::cmplt) || !u.src(0).dtype().is_integer() || u.src(0).dtype().is_unsigned()) return {};
    if (u.src(1).is_const()) return Side{u.src(0), const_int(u.src(1)), true};
    if (u.src(0).is_const()) return Side{u.src(1), const_int(u.src(0)), false};
    return {};
}

bool is_negation(UOp a, UOp b) {
    return (a.is(Op::logical_not) && a.src(0) == b) || (b.is(Op::logical_not) && b.src(0) == a);
}

enum class Pair { independent, first, second, always_settled };

/// Do two operands of & (or |) settle the whole (false for &, true for |), or does one make the other idle?
Pair relate(UOp a, UOp b, bool conjunction) {
    if (is_negation(a, b)) return Pair::always_settled;
    std::optional<Side> s = side(a), t = side(b);
    if (!s || !t || s->of != t->of) return Pair::independent;
    if (s->upper == t->upper) {
        bool first_tighter = s->upper ? s->limit <= t->limit : s->limit >= t->limit;
        return first_tighter == conjunction ? Pair::first : Pair::second;
    }
    // low < x and x < high: nothing lies between when high - low <= 1; one of them always holds when low < high.
    __int128 gap = s->upper ? __int128(s->limit) - t->limit : __int128(t->limit) - s->limit;
    return conjunction ? (gap <= 1 ? Pair::always_settled : Pair::independent)
                       : (gap >= 1 ? Pair::always_settled : Pair::independent);
}

/// The operands of a tree of & or |, each once, in order, without those that others imply.
UOp canonical(const Match& t) {
    const Op op = t.root.op();
    const bool conjunction = op == Op::bit_and;
    std::vector<UOp> parts;
    flatten(t.root, op, parts);
    std::sort(parts.begin(), parts.end(), [](UOp a, UOp b) { return compare_nodes(a, b) < 0; });
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (size_t i = 0; i < parts.size(); ++i)
        for (size_t j = i + 1; j < parts.size();) {
            Pair pair = relate(parts[i], parts[j], conjunction);
            if (pair == Pair::always_settled) return constant_int(t.root.dtype(), !conjunction);
            if (pair == Pair::second) std::swap(parts[i], parts[j]);
            if (pair == Pair::independent) {
                j++;
                continue;
            }
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
            j = i + 1;
        }
    std::sort(parts.begin(), parts.end(), [](UOp a, UOp b) { return compare_nodes(a, b) < 0; });
    UOp out = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) out = alu(op, {out, parts[i]});
    return out;
}

bool is_int_compare(UOp u) { return u.src(0).dtype().is_integer(); }

/// !(i < n) -> n - 1 < i and !(n < i) -> i < n + 1, where the constant has room.
UOp negated_less(const Match& t) {
    UOp a = t.root.src(0).src(0), b = t.root.src(0).src(1);
    if (!is_int_compare(t.root.src(0)) || a.dtype().is_unsigned()) return {};
    DType type = a.dtype();
    if (b.is_const() && const_int(b) > int_min(type)) return constant_int(type, const_int(b) - 1) < a;
    if (a.is_const() && const_int(a) < int_max(type)) return b < constant_int(type, const_int(a) + 1);
    return {};
}

}  // namespace

const RuleSet& logic_rules() {
    static const RuleSet set{
        rule({Op::bit_not, {p}}, !p),
        rule(!!p, p),
        rule(!(x < y), negated_less),
        rule(!(x == y), x != y),
        rule(!(x != y), x == y),
        rule(p & 1, p),
        rule(p & 0, 0),
        rule(p | 0, p),
        rule(p | 1, 1),
        rule(p & q, canonical),
        rule(p | q, canonical),
        rule(p & (p | q), p),
        rule(p | (p & q), p),
        rule(p ^ 0, p),
        rule(p ^ 1, !p),
        rule(p ^ p, 0),
        rule(i & 0, 0),
        rule(i & -1, i),
        rule(i & i, i),
        rule(i | 0, i),
        rule(i | i, i),
        rule(i ^ 0, i),
        rule(i ^ i, 0),
        rule((i & c0) & c1, i & (c0 & c1)),
        rule((i | c0) | c1, i | (c0 | c1)),
        rule((i ^ c0) ^ c1, i ^ (c0 ^ c1)),
    };
    return set;
}

}  // namespace strata
