#include "strata/codegen/optimize/attention_parts_p.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/schedule/softmax.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

bool is_reduction(UOp u, Op op, UOp range) {
    return u.is(Op::reduce) && u.as<ReduceArg>().op == op && u.src().size() == 2 && u.src(1) == range &&
           u.dtype() == dtypes::float32;
}

UOp below_widening(UOp value) {
    while (value.is(Op::cast) && keeps_values(value.src(0).dtype(), value.dtype())) value = value.src(0);
    return value;
}

/// What a value is before it is multiplied by a positive number, where it is not masked; the number, or 1.
std::pair<UOp, double> without_factor(UOp value) {
    const UOp none = identity(Op::max, dtypes::float32);
    if (value.is(Op::mul) && value.src(1).is_const()) {
        const double factor = const_value(value.src(1));
        return factor > 0 && std::isfinite(factor) ? std::pair(value.src(0), factor) : std::pair(value, 1.0);
    }
    for (size_t masked : {1, 2})
        if (value.is(Op::where) && value.src(masked) == none) {
            std::vector<UOp> sources(value.src().begin(), value.src().end());
            const auto [below, factor] = without_factor(value.src(3 - masked));
            sources[3 - masked] = below;
            return {value.with_src(sources), factor};
        }
    return {value, 1};
}

/// The largest of products with a positive number is that of the factors: exponents take it with their own.
void take_factor(AttentionParts& p) {
    if (p.shift != p.top && !p.shift.src(2).is_const(0)) return;
    const auto [below, factor] = without_factor(p.of_scores);
    p.of_scores = below, p.to_exp2 *= factor;
}

}  // namespace

bool is_plain_row(UOp value, UOp row) {
    if (!value.is(Op::load) || value.src(0).src().size() != 2 || !value.src(0).src(0).is(Op::param)) return false;
    const UOp offset = value.src(0).src(1);
    return step_of(offset, row) == 1 && proves_divisible(substitute_range(offset, row, index_const(0)), kTogether);
}

std::optional<AttentionParts> attention_parts(UOp sink, UOp keys, const Target& target) {
    AttentionParts p{.keys = keys};
    std::vector<UOp> sums;
    const std::vector<UOp> nodes = toposort(sink);
    for (UOp u : nodes) {
        if (u.is(Op::param) && u.as<ParamArg>().space != Space::global) return {};
        if (u.is(Op::store)) {
            if (p.store) return {};
            p.store = u;
        }
        if (!closes(u, keys)) continue;
        if (is_reduction(u, Op::add, keys))
            sums.push_back(u);
        else if (is_reduction(u, Op::max, keys) && !p.top)
            p.top = u;
        else
            return {};
    }
    if (!p.top || !p.store || sums.size() != 2 || !sink.src(0).is(Op::end) || sink.src(0).src(0) != p.store) return {};
    if (!sums[1].src(0).is(Op::mul)) std::swap(sums[0], sums[1]);
    p.total = sums[0], p.sum = sums[1];
    const UOp weight = p.total.src(0), product = p.sum.src(0);
    if (!(weight.is(Op::exp) || weight.is(Op::exp2)) || !weight.src(0).is(Op::sub) || !product.is(Op::mul)) return {};
    p.to_exp2 = weight.is(Op::exp) ? std::numbers::log2e : 1;
    p.of_scores = p.top.src(0), p.shift = weight.src(0).src(1);
    if (weight.src(0).src(0) != p.of_scores) return {};
    if (p.shift != p.top && guarded_maximum(p.shift) != p.top) return {};
    take_factor(p);
    if (product.src(0) != weight && product.src(1) != weight) return {};
    p.value = below_widening(product.src(product.src(0) == weight ? 1 : 0));
    for (UOp u : toposort(p.of_scores)) {
        if (!u.is(Op::reduce)) continue;
        if (p.scores || u.src().size() != 2 || !is_reduction(u, Op::add, u.src(1))) return {};
        p.scores = u;
    }
    if (!p.scores || !p.scores.src(0).is(Op::mul)) return {};
    p.row = p.scores.src(1);
    p.query = below_widening(p.scores.src(0).src(0)), p.key = below_widening(p.scores.src(0).src(1));
    if (depends_on(p.query, keys)) std::swap(p.query, p.key);
    const DType type = p.value.dtype();
    const auto shape = std::ranges::find_if(target.matrix, [&](const MatrixShape& s) {
        return !s.family && !s.by_warpgroups && s.operand == type && type.bits() == 16 &&
               s.accumulator == dtypes::float32;
    });
    if (shape == target.matrix.end() || target.ahead != Ahead::copies) return {};
    p.shape = &*shape;
    if (p.query.dtype() != type || p.key.dtype() != type || p.store.src(1).dtype().bits() > 16) return {};
    if (!depends_on(p.key, keys) || depends_on(p.query, keys) || !closes(sink.src(0), p.row)) return {};
    if (!is_plain_row(p.key, p.row) || !is_plain_row(p.value, p.row)) return {};
    for (UOp r : ranges(sink))
        if (range_arg(r).axis == Axis::global && depends_on(p.query, r) && !depends_on(p.key, r) &&
            !depends_on(p.value, r) && (!p.rows || range_arg(p.rows).size <= range_arg(r).size))
            p.rows = r;
    for (UOp r : ranges(sink))
        if (range_arg(r).axis != Axis::global && r != keys && r != p.row) return {};
    return p.rows ? std::optional(p) : std::nullopt;
}

}  // namespace strata::codegen
