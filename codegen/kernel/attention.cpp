// The kernel of attention: what build_kernel does for it beside any other kernel.
//
// Before  sum over j of exp(s(i, j) - top(i)) / total(i) * v(j, r % 64), s(i, j) of the sum over d of q(i, d) * k(j, d)
// After   (sum over j of exp(s(i, j) - top(i)) * v(j, e)) / total(i), s(i, j) of the sum over e of q(i, e) * k(j, e)
#include <algorithm>
#include <array>

#include "strata/codegen/kernel/attention_p.h"
#include "strata/codegen/kernel/widen.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {

UOp Factors::around(UOp sum) const {
    for (auto [op, factor] : outside) sum = alu(op, {sum, factor});
    return sum;
}

Factors factors_of(UOp summand, UOp range) {
    Factors factors{summand, {}};
    if (summand.is(Op::fdiv) && !moves_with(summand.src(1), range)) {
        factors = factors_of(summand.src(0), range);
        factors.outside.emplace_back(Op::fdiv, summand.src(1));
    } else if (summand.is(Op::mul)) {
        const bool left = moves_with(summand.src(0), range), right = moves_with(summand.src(1), range);
        if (left && right && summand.src(0) != summand.src(1)) {
            const Factors a = factors_of(summand.src(0), range), b = factors_of(summand.src(1), range);
            factors = {a.inside * b.inside, a.outside};
            factors.outside.insert(factors.outside.end(), b.outside.begin(), b.outside.end());
        } else if (left != right) {
            factors = factors_of(summand.src(left ? 0 : 1), range);
            factors.outside.emplace_back(Op::mul, summand.src(left ? 1 : 0));
        }
    }
    return factors;
}

UOp share_columns(UOp sink, UOp column, UOp depth) {
    if (column.is(Op::mod) && column.src(0).is(Op::range) && column.src(1).is_const()) {
        const RangeArg& all = range_arg(column.src(0));
        const int64_t columns = const_int(column.src(1));
        if (all.size % columns != 0) return sink;
        UOp outer = uop::range(all.size / columns, all.id, all.axis);
        UOp inner = uop::range(columns, next_range_id(sink), all.axis);
        sink = simplify(replace_range(sink, column.src(0), outer * columns + inner, std::array{outer, inner}));
        column = inner;
    }
    if (!column.is(Op::range)) return sink;
    for (UOp u : toposort(sink))
        if (closes(u, depth) && depends_on(u.src(0), column)) return sink;
    const int64_t size = std::max(range_arg(column).size, range_arg(depth).size);
    const int id = next_range_id(sink);
    const UOp row = uop::range(size, id, Axis::reduce);
    std::vector<UOp> parts;
    for (UOp range : {depth, column}) {
        parts.push_back(uop::range(size, id + 1 + static_cast<int>(parts.size()), Axis::reduce));
        sink = range_arg(range).size < size ? widen_range(sink, range, parts.back())
                                            : replace_range(sink, range, parts.back(), std::array{parts.back()});
    }
    for (UOp part : parts) sink = replace_range(sink, part, row, std::array{row});
    return simplify(sink);
}

}  // namespace strata::codegen
