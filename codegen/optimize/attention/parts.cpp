#include "strata/codegen/optimize/attention/parts_p.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

/// The value before a multiplication by a positive number, where it is not masked; the number, or 1.
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
    p.of_scores = below, p.to_exp2 *= factor, p.factor = factor;
}

/// Attention: sums[0] the total, sums[1], if any, of weighted values.
bool take_softmax(AttentionParts& p, std::vector<UOp> sums) {
    if (sums.empty() || sums.size() > 2) return false;
    if (sums.size() == 2 && !sums[1].src(0).is(Op::mul)) std::swap(sums[0], sums[1]);
    p.total = sums[0];
    const UOp weight = p.total.src(0);
    if (!(weight.is(Op::exp) || weight.is(Op::exp2)) || !weight.src(0).is(Op::sub)) return false;
    p.to_exp2 = weight.is(Op::exp) ? std::numbers::log2e : 1;
    p.of_scores = p.top.src(0), p.shift = weight.src(0).src(1);
    if (weight.src(0).src(0) != p.of_scores) return false;
    if (p.shift != p.top && guarded_maximum(p.shift) != p.top) return false;
    take_factor(p);
    if (sums.size() == 1) return true;
    p.sum = sums[1];
    const UOp product = p.sum.src(0);
    if (!product.is(Op::mul) || (product.src(0) != weight && product.src(1) != weight)) return false;
    p.value = below_widening(product.src(product.src(0) == weight ? 1 : 0));
    return true;
}

bool reaches(UOp value, UOp node) {
    const std::vector<UOp> nodes = toposort(value);
    return std::ranges::find(nodes, node) != nodes.end();
}

bool has_reduction(UOp value) {
    return std::ranges::any_of(toposort(value), [](UOp u) { return u.is(Op::reduce); });
}

/// A chain: the sum over keys of weights, rounded to the type of values, times these.
bool take_chain(AttentionParts& p, std::span<const UOp> sums) {
    if (sums.size() != 1 || !sums[0].src(0).is(Op::mul)) return false;
    p.sum = sums[0];
    for (size_t side : {0, 1}) {
        const UOp weight = below_widening(p.sum.src(0).src(side));
        if (!weight.is(Op::cast) || weight.dtype().bits() != 16 || !has_reduction(weight)) continue;
        p.value = below_widening(p.sum.src(0).src(1 - side)), p.of_scores = weight.src(0);
        return p.of_scores.dtype() == dtypes::float32 && p.value.dtype() == weight.dtype() && !has_reduction(p.value);
    }
    return false;
}

/// The products in the scores, all of one type.
bool take_products(AttentionParts& p) {
    for (UOp u : toposort(p.of_scores)) {
        if (!u.is(Op::reduce)) continue;
        if (u.src().size() != 2 || !is_reduction(u, Op::add, u.src(1)) || !u.src(0).is(Op::mul)) return false;
        ScoreProduct product{u, below_widening(u.src(0).src(0)), below_widening(u.src(0).src(1)), u.src(1)};
        if (depends_on(product.query, p.keys)) std::swap(product.query, product.key);
        const DType type = product.key.dtype();
        if (type.bits() != 16 || product.query.dtype() != type || (p.value && p.value.dtype() != type)) return false;
        if (!depends_on(product.key, p.keys) || depends_on(product.query, p.keys)) return false;
        p.products.push_back(product);
    }
    if (p.products.empty() || p.products.size() > (p.is_chain() ? 2 : 1)) return false;
    const ScoreProduct& first = p.products[0];
    p.scores = first.sum, p.query = first.query, p.key = first.key, p.row = first.row;
    return std::ranges::all_of(p.products, [&](const ScoreProduct& x) { return x.key.dtype() == p.key.dtype(); });
}

/// The ranges of rows and columns of the results; false where there are others than these can share a block.
bool take_ranges(AttentionParts& p, UOp sink) {
    const auto is_of_rows = [&](UOp r) {
        return std::ranges::all_of(
                   p.products,
                   [&](const ScoreProduct& x) { return depends_on(x.query, r) && !depends_on(x.key, r); }) &&
               !(p.value && depends_on(p.value, r));
    };
    const auto is_of_columns = [&](UOp r) {
        return depends_on(p.value, r) && std::ranges::none_of(p.products, [&](const ScoreProduct& x) {
                   return depends_on(x.query, r) || depends_on(x.key, r);
               });
    };
    if (p.sum && !p.is_chain()) {
        if (!closes(sink.src(0), p.row)) return false;
        p.column = p.row;
    }
    for (UOp r : ranges(sink)) {
        const RangeArg& arg = range_arg(r);
        const bool is_product = std::ranges::any_of(p.products, [&](const ScoreProduct& x) { return x.row == r; });
        if (r == p.keys || is_product) continue;
        if (arg.axis != Axis::global) return false;
        if (is_of_rows(r) && (!p.rows || range_arg(p.rows).size <= arg.size)) p.rows = r;
        if (p.is_chain() && is_of_columns(r)) {
            if (p.column) return false;
            p.column = r;
        }
    }
    return p.rows && (p.column || !p.sum);
}

/// The stores: that of the results, and those of numbers of rows beside the sum of attention.
bool take_stores(AttentionParts& p, UOp sink) {
    if (!sink.src(0).is(Op::end)) return false;
    const UOp effects = sink.src(0).src(0);
    const std::vector<UOp> stores =
        effects.is(Op::group) ? std::vector<UOp>(effects.src().begin(), effects.src().end()) : std::vector{effects};
    for (UOp store : stores) {
        if (!store.is(Op::store)) return false;
        const bool is_result = stores.size() == 1 || reaches(store.src(1), p.sum);
        if (!is_result)
            p.of_rows.push_back(store);
        else if (std::exchange(p.store, store))
            return false;
    }
    return p.store && (p.of_rows.empty() || (p.sum && !p.is_chain()));
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
    for (UOp u : toposort(sink)) {
        if (u.is(Op::param) && u.as<ParamArg>().space != Space::global) return {};
        if (!closes(u, keys)) continue;
        if (is_reduction(u, Op::add, keys))
            sums.push_back(u);
        else if (is_reduction(u, Op::max, keys) && !p.top)
            p.top = u;
        else
            return {};
    }
    if (!(p.top ? take_softmax(p, sums) : take_chain(p, sums)) || !take_products(p)) return {};
    if (!take_stores(p, sink)) return {};
    const DType type = p.key.dtype();
    const auto shape = std::ranges::find_if(target.matrix, [&](const MatrixShape& s) {
        return s.m == 16 && s.k == 16 && !s.by_warpgroups && s.operand == type && s.accumulator == dtypes::float32;
    });
    if (shape == target.matrix.end() || (!shape->family && target.ahead != Ahead::copies)) return {};
    p.shape = &*shape;
    return take_ranges(p, sink) ? std::optional(p) : std::nullopt;
}

bool is_plain_attention(const AttentionParts& p) {
    return p.sum && !p.is_chain() && p.store.src(1).dtype().bits() <= 16 && is_plain_row(p.key, p.row) &&
           is_plain_row(p.value, p.row);
}

UOp masked_scores(const AttentionParts& p) {
    const UOp none = identity(Op::max, dtypes::float32);
    const auto is_masked = [&](UOp u) { return u.is(Op::where) && (u.src(1) == none || u.src(2) == none); };
    if (!p.is_chain()) return is_masked(p.of_scores) ? p.of_scores : UOp();
    // The weights are 0 where an exponential that is a factor of them is.
    std::vector<UOp> factors{p.of_scores};
    while (!factors.empty()) {
        UOp u = factors.back();
        factors.pop_back();
        if (u.is(Op::mul)) factors.insert(factors.end(), u.src().begin(), u.src().end());
        if (!u.is(Op::exp) && !u.is(Op::exp2)) continue;
        u = u.src(0);
        while ((u.is(Op::add) || u.is(Op::sub)) && !is_masked(u)) u = u.src(u.is(Op::add) && !has_reduction(u.src(0)));
        if (is_masked(u)) return u;
    }
    return {};
}

}  // namespace strata::codegen
