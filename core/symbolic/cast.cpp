#include "strata/core/symbolic/rules_p.h"

namespace strata {
namespace {

using namespace vocabulary;

int value_bits(DType t) { return t.is_bool() ? 1 : t.bits() - (t.is_unsigned() ? 0 : 1); }

}  // namespace

bool keeps_values(DType from, DType to) {
    if (from.element() == to.element() || from.is_bool()) return !to.is_bool() || from.is_bool();
    if (to.is_bool()) return false;
    if (from.is_float()) {
        // A wider format here has both more exponent and more mantissa, or is bfloat16 beside the fp8 formats. All of
        // them have infinity and minus zero.
        return to.is_float() && to.exponent_bits() >= from.exponent_bits() &&
               to.mantissa_bits() >= from.mantissa_bits() && to.bits() > from.bits();
    }
    if (to.is_float())
        return value_bits(from) <= to.mantissa_bits() + 1 && value_bits(from) < (1 << (to.exponent_bits() - 1)) &&
               to.bits() > 8;
    return from.is_unsigned() || !to.is_unsigned() ? value_bits(from) <= value_bits(to) : false;
}

bool is_widening(UOp u) { return u.is(Op::cast) && keeps_values(u.src(0).dtype(), u.dtype()); }

namespace {

bool in_range(UOp u, DType to) {
    if (!u.dtype().is_integer() || !(to.is_integer())) return false;
    return proves_at_least(u, int_min(to)) &&
           (to.scalar == Scalar::uint64 || proves_less(u, int_max(to)) || bounds(u).high == int_max(to)) &&
           proves_less(u, int_max(dtypes::int64));
}

UOp through_middle(const Match& t) {
    UOp middle = t.root.src(0), source = middle.src(0);
    DType from = source.dtype(), via = middle.dtype(), to = t.root.dtype();
    // Integers wrap where floats saturate.
    if (via.is_float() && !from.is_float() && to.is_integer() && !keeps_values(from, to)) return {};
    bool kept = keeps_values(from, via) || in_range(source, via);
    // Wrapping twice is wrapping once, if the second type is the narrower.
    bool wraps = from.is_integer() && via.is_integer() && to.is_integer() && to.bits() <= via.bits();
    return kept || wraps ? cast(source, to) : UOp();
}

/// cast(x) to bool is x != 0.
UOp to_truth(const Match& t) {
    UOp source = t.root.src(0);
    return t.root.dtype().is_bool() && !source.dtype().is_bool() ? alu(Op::cmpne, {source, constant(source.dtype(), 0)})
                                                                 : UOp();
}

UOp widened_truth(const Match& t) {
    // cast(p) != 0 -> p and the like come from comparing a widened bool with a number.
    UOp source = t.root.src(0).src(0);
    if (!source.dtype().is_bool() || !t.root.src(1).is_const(0)) return {};
    return t.root.is(Op::cmpne) ? source : alu(Op::logical_not, {source});
}

/// Integers that a cast does not change are compared as they are.
UOp compared_before(const Match& t) {
    auto before = [](UOp u) { return u.is(Op::cast) && in_range(u.src(0), u.dtype()) ? u.src(0) : UOp(); };
    const UOp a = before(t.root.src(0)), b = before(t.root.src(1));
    const DType type = a ? a.dtype() : b ? b.dtype() : dtypes::none;
    auto side = [&](UOp u, UOp inner) {
        if (inner) return inner.dtype() == type ? inner : UOp();
        if (!u.is_const() || const_int(u) < int_min(type) || const_int(u) > int_max(type)) return UOp();
        return constant_int(type, const_int(u));
    };
    if (!type.is_integer() || t.root.src(0).dtype().is_unsigned()) return {};
    const UOp left = side(t.root.src(0), a), right = side(t.root.src(1), b);
    return left && right ? alu(t.root.op(), {left, right}) : UOp();
}

/// For integers that a cast does not change, and does not narrow unless they are indices, quotients and remainders are
/// taken before the cast. Most of a sum of ranges is known.
UOp divided_before(const Match& t) {
    const UOp before = t[x];
    const DType from = before.dtype(), to = t.root.dtype();
    const int64_t by = t.value(n);
    if (!from.is_integer() || !to.is_integer() || by <= 0 || by > int_max(from) || !in_range(before, to)) return {};
    if (from != dtypes::index && from.bits() > to.bits()) return {};
    return cast(alu(t.root.op(), {before, constant_int(from, by)}), to);
}

}  // namespace

const RuleSet& cast_rules() {
    static const RuleSet set{
        rule(cast(x), x, [](const Match& t) { return t[x].dtype() == t.root.dtype(); }),
        rule(cast(cast(x)), through_middle),
        rule(cast(x), to_truth),
        rule(cast(x) != c, widened_truth),
        rule(cast(x) == c, widened_truth),
        rule(cast(x) < y, compared_before),
        rule(y < cast(x), compared_before),
        rule(cast(x) / n, divided_before),
        rule(cast(x) % n, divided_before),
        rule({Op::detach, {x}}, x),
        rule({Op::recompute, {x}}, x),
        rule(
            {Op::bitcast, {{Op::bitcast, {x}}}}, [](const Match& t) { return bitcast(t[x], t.root.dtype()); },
            [](const Match& t) { return !t[x].dtype().is_bool() && !t.root.dtype().is_bool(); }),
    };
    return set;
}

}  // namespace strata
