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

/// Whether all threads of a block have the same value. Empty: the value is made of loads, or of others that are neither
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

}  // namespace

UOp slope(UOp value, UOp range) {
    const UOp step = simplify(substitute(value, {{range, range + 1}}) - value);
    return step.is_const() ? step : UOp();
}

UOp steps_while(UOp condition, bool wanted, UOp range) {
    if (condition.is(Op::bit_and) && wanted) {
        const UOp left = steps_while(condition.src(0), wanted, range);
        return left ? left : steps_while(condition.src(1), wanted, range);
    }
    if (!condition.is(Op::cmplt) || condition.src(0).dtype() != dtypes::index) return {};
    // Wanted as long as there is room.
    const UOp left = condition.src(0), right = condition.src(1), room = wanted ? right - left : left + 1 - right;
    const UOp by = slope(room, range);
    if (!by || const_int(by) >= 0) return {};
    const UOp first = extreme(simplify(substitute(room, {{range, index_const(0)}})), true);
    if (!first) return {};
    const int64_t used = -const_int(by);
    return simplify((first + (used - 1)) / used);
}

std::optional<Settled> settled_first(UOp comparison, UOp range) {
    if (!comparison.is(Op::cmplt) || comparison.src(0).dtype() != dtypes::index) return {};
    const UOp room = comparison.src(1) - comparison.src(0), by = slope(room, range);
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
