#include "strata/codegen/kernel/masked_steps.h"

#include <cstdlib>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFarthest = int64_t{1} << 40;  // bounds beyond that are none

bool is_of_threads(UOp u) {
    return (u.is(Op::range) && range_arg(u).axis != Axis::global) || (u.is(Op::special) && u.as<SpecialArg>().thread);
}

/// True if all threads of a block have the same value. Empty: the value is made of loads, or of others that are neither
/// constants, numbers of the launch nor numbers of blocks, threads and steps.
std::optional<bool> is_same_in_block(UOp value) {
    bool same = true;
    for (UOp u : toposort(value)) {
        const bool known = u.is_const() || u.is(Op::define_var) || u.is(Op::range) || u.is(Op::special) ||
                           (u.dtype().scalar == Scalar::index && info(u.op()).elementwise());
        if (!known) return {};
        same &= !is_of_threads(u);
    }
    return same;
}

/// The greatest or least value in a block; empty where it is not known.
UOp extreme(UOp value, bool greatest) {
    const std::optional<bool> same = is_same_in_block(value);
    if (!same || *same) return same ? value : UOp();
    const bool by_constant = value.src().size() == 2 && value.src(1).is_const(),
               scaled = by_constant && (value.is(Op::mul) || (value.is(Op::idiv) && const_int(value.src(1)) > 0));
    if (scaled || value.is(Op::add) || value.is(Op::sub) || value.is(Op::max) || value.is(Op::min)) {
        const bool turned = scaled && const_int(value.src(1)) < 0;
        const UOp left = extreme(value.src(0), greatest != turned),
                  right = extreme(value.src(1), greatest != value.is(Op::sub));
        return left && right ? alu(value.op(), {left, right}) : UOp();
    }
    const Bounds all = bounds(value);
    const int64_t limit = greatest ? all.high : all.low;
    return limit >= -kFarthest && limit <= kFarthest ? index_const(limit) : UOp();
}

/// An integer of steps, threads and blocks, computed as an index. Empty where it is made of others, or may wrap around.
UOp as_index(UOp value) {
    const DType type = value.dtype();
    if (type == dtypes::index) return value;
    if (!type.is_integer()) return {};
    if (value.is_const()) return index_const(const_int(value));
    UOp exact;
    if (value.is(Op::define_var)) {
        exact = cast(value, dtypes::index);
    } else if (value.is(Op::cast)) {
        exact = as_index(value.src(0));
    } else if (value.is(Op::add) || value.is(Op::sub) || value.is(Op::mul) || value.is(Op::max) || value.is(Op::min)) {
        const UOp left = as_index(value.src(0)), right = as_index(value.src(1));
        if (left && right) exact = simplify(alu(value.op(), {left, right}));
    }
    if (!exact || exact.dtype() != dtypes::index) return {};
    const Bounds all = bounds(exact);
    return all.low >= int_min(type) && all.low >= -kFarthest && all.high <= kFarthest && all.high <= int_max(type)
               ? exact
               : UOp();
}

/// right - left of left < right, which holds where that is at least 1; empty: it is no such comparison.
UOp room_of(UOp comparison) {
    if (!comparison.is(Op::cmplt)) return {};
    const UOp left = as_index(comparison.src(0)), right = as_index(comparison.src(1));
    return left && right ? right - left : UOp();
}

}  // namespace

UOp slope(UOp value, UOp range) {
    const UOp step = simplify(substitute(value, {{range, range + 1}}) - value);
    return step.is_const() ? step : UOp();
}

UOp steps_while(UOp condition, bool wanted, UOp range) {
    if (condition.is(wanted ? Op::bit_and : Op::bit_or))
        return fewer_steps(steps_while(condition.src(0), wanted, range), steps_while(condition.src(1), wanted, range));
    if (condition.is(Op::logical_not)) return steps_while(condition.src(0), !wanted, range);
    UOp room = room_of(condition);
    if (!room) return {};
    if (!wanted) room = index_const(1) - room;
    const UOp by = slope(room, range);
    if (!by || const_int(by) >= 0) return {};
    const UOp first = extreme(simplify(substitute(room, {{range, index_const(0)}})), true);
    if (!first) return {};
    const int64_t used = -const_int(by);
    return simplify((first + (used - 1)) / used);
}

UOp steps_while_from_the_last(UOp condition, bool wanted, UOp range) {
    const UOp reversed = index_const(range_arg(range).size - 1) - range;
    return steps_while(simplify(substitute(condition, {{range, reversed}})), wanted, range);
}

UOp fewer_steps(UOp a, UOp b) {
    if (!a || !b) return a ? a : b;
    const UOp difference = simplify(b - a);
    if (difference.is_const()) return const_int(difference) < 0 ? b : a;
    return alu(Op::min, {a, b});
}

std::optional<Settled> settled_first(UOp comparison, UOp range) {
    const UOp room = room_of(comparison), by = room ? slope(room, range) : UOp();
    if (!by || by.is_const(0)) return {};
    const bool holds = const_int(by) < 0;
    const int64_t used = std::abs(const_int(by));
    const UOp first = simplify(substitute(room, {{range, index_const(0)}})),
              least = holds ? extreme(first, false) : extreme(first, true);
    if (!least) return {};
    // It holds while at least 1 is left, and does not while at most 0 is.
    const UOp left = holds ? least - 1 : index_const(0) - least;
    return Settled{simplify(alu(Op::max, {left + used, index_const(0)}) / used), holds};
}

}  // namespace strata::codegen
