#include "strata/core/symbolic/linear_p.h"

namespace strata {
namespace {

template <class T>
int three_way(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

// Loop variables first, then thread and block indices, other values, constants last.
int rank(UOp u) {
    switch (u.op()) {
        case Op::range: return 0;
        case Op::special: return 1;
        case Op::constant: return 3;
        default: return 2;
    }
}

int compare_args(UOp a, UOp b) {
    if (a.is(Op::range)) return three_way(a.as<RangeArg>().id, b.as<RangeArg>().id);
    if (a.is(Op::special)) {
        const SpecialArg &s = a.as<SpecialArg>(), &t = b.as<SpecialArg>();
        return three_way(std::tuple(s.thread, s.dim), std::tuple(t.thread, t.dim));
    }
    if (a.is(Op::param)) {
        const ParamArg &s = a.as<ParamArg>(), &t = b.as<ParamArg>();
        return three_way(std::tuple(s.space, s.slot), std::tuple(t.space, t.slot));
    }
    if (a.is(Op::define_var)) return three_way(a.as<VariableArg>().slot, b.as<VariableArg>().slot);
    if (a.is_const()) return three_way(const_value(a), const_value(b));
    return 0;
}

}  // namespace

int compare_nodes(UOp a, UOp b) {
    // Equal nodes are one node, so the first sources that differ decide and nothing else is looked at.
    while (a != b) {
        if (int by = three_way(rank(a), rank(b))) return by;
        if (int by = three_way(static_cast<int>(a.op()), static_cast<int>(b.op()))) return by;
        if (int by =
                three_way(std::tuple(a.dtype().scalar, a.dtype().lanes), std::tuple(b.dtype().scalar, b.dtype().lanes)))
            return by;
        if (int by = three_way(a.src().size(), b.src().size())) return by;
        if (int by = compare_args(a, b)) return by;
        size_t i = 0;
        while (i < a.src().size() && a.src()[i] == b.src()[i]) i++;
        if (i == a.src().size()) return three_way(a.node()->hash, b.node()->hash);
        UOp next = a.src()[i];
        b = b.src()[i];
        a = next;
    }
    return 0;
}

}  // namespace strata
