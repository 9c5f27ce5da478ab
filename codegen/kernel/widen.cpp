#include "strata/codegen/kernel/widen.h"

#include <algorithm>
#include <array>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

/// The place, touched only where `inside` holds too.
UOp predicated(UOp place, UOp inside) {
    UOp predicate = place.src().size() == 3 ? place.src(2) : UOp();
    return uop::at(place.src(0), place.src(1), uop::both(predicate, inside));
}

bool holds_in(UOp condition, UOp predicate) {
    return predicate == condition || (predicate.is(Op::bit_and) &&
                                      (holds_in(condition, predicate.src(0)) || holds_in(condition, predicate.src(1))));
}

bool is_zero_load(UOp u, UOp inside) {
    return u.is(Op::load) && u.src(0).src().size() == 3 && u.src(1).is_const() && const_value(u.src(1)) == 0 &&
           holds_in(inside, u.src(0).src(2));
}

/// True if a product of loads is zero wherever a condition that they all have does not hold.
bool is_zero_outside(UOp product, UOp inside) {
    const std::vector<UOp> nodes = toposort(product, [](UOp u) { return !u.is(Op::mul) && !u.is(Op::cast); });
    return std::ranges::all_of(nodes,
                               [&](UOp u) { return u.is(Op::mul) || u.is(Op::cast) || is_zero_load(u, inside); });
}

}  // namespace

bool moves_with(UOp root, UOp range) {
    UOpSet seen{root};
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
        UOp u = stack.back();
        stack.pop_back();
        if (u == range) return true;
        if (closes(u, range)) continue;
        for (UOp s : u.src())
            if (seen.insert(s).second) stack.push_back(s);
    }
    return false;
}

UOp replace_range(UOp sink, UOp old, UOp value, std::span<const UOp> parts) {
    return rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (u == old) return value;
        if (auto listed = lists_ranges(u) ? std::find(u.src().begin() + 1, u.src().end(), old) : u.src().end();
            listed != u.src().end()) {
            auto at = sources.erase(sources.begin() + (listed - u.src().begin()));
            sources.insert(at, parts.begin(), parts.end());
        }
        return u.with_src(sources);
    });
}

UOp widen_range(UOp sink, UOp range, UOp wide, UOp size) {
    const UOp inside = size ? wide < size : wide < range_arg(range).size;
    return rebuild(replace_range(sink, range, wide, std::array{wide}), [&](UOp u, std::vector<UOp>& sources) {
        bool touches = (u.is(Op::load) || u.is(Op::store)) && moves_with(u.src(0), wide);
        if (touches) sources[0] = predicated(sources[0], inside);
        if (u.is(Op::bounded) && moves_with(u.src(0), wide))
            sources[0] = alu(Op::where, {inside, sources[0], constant(u.dtype(), 0)});
        if (touches && u.is(Op::load)) return uop::load(sources[0], sources.size() > 1 ? sources[1] : UOp());
        const bool reduces = u.is(Op::reduce) && std::find(u.src().begin() + 1, u.src().end(), wide) != u.src().end();
        if (reduces && !(u.as<ReduceArg>().op == Op::add && is_zero_outside(sources[0], inside)))
            sources[0] = alu(Op::where, {inside, sources[0], identity(u.as<ReduceArg>().op, u.dtype())});
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
