// find_attention: online softmax. Where exponentials of a row, less its maximum, weight a sum.
//
// Axes are followed by their place. The row is the last axis of all values computed from the scores. On its way into
// the sum it only gains axes of one element before it and repetition along them.
#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/softmax.h"
#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/walk.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace strata::codegen {
namespace {

constexpr size_t kNear = 64;  // nodes between the scores and the products they are made of

bool reduces_last(UOp u, Op op) {
    if (!u.is(Op::reduce) || u.as<ReduceArg>().op != op || !u.dtype().is_float()) return false;
    const std::vector<int>& axes = u.as<ReduceArg>().axes;
    return axes.size() == 1 && axes[0] + 1 == static_cast<int>(u.src(0).shape().size()) && u.src(0).shape().back() > 1;
}

bool keeps_last_axis(UOp u) {
    return (u.is(Op::reshape) || u.is(Op::expand)) && !u.shape().empty() && !u.src(0).shape().empty() &&
           u.shape().back() == u.src(0).shape().back();
}

/// The exponential that is a factor of `u`, or empty.
UOp exponential_in(UOp root) {
    UOpSet seen{root};
    std::vector<UOp> stack{root};
    while (!stack.empty()) {
        UOp u = stack.back();
        stack.pop_back();
        if (u.is(Op::exp) || u.is(Op::exp2)) return u;
        if (u.is(Op::mul) && seen.insert(u.src(1)).second) stack.push_back(u.src(1));
        if ((u.is(Op::mul) || u.is(Op::fdiv) || keeps_last_axis(u)) && seen.insert(u.src(0)).second)
            stack.push_back(u.src(0));
    }
    return UOp();
}

/// The sum of products that the scores are made of, one element each.
UOp product_in(UOp scores) {
    UOpSet seen{scores};
    std::vector<UOp> stack{scores};
    while (!stack.empty() && seen.size() < kNear) {
        UOp u = stack.back();
        stack.pop_back();
        if (reduces_last(u, Op::add) && u.src(0).is(Op::mul) && u.numel() == scores.numel()) return u;
        if (!info(u.op()).elementwise() && !u.is(Op::reshape)) continue;
        for (UOp s : u.src())
            if (seen.insert(s).second) stack.push_back(s);
    }
    return UOp();
}

/// A factor without its rounding to a narrower type, where that is one of weights; empty: it is another.
UOp without_rounding(UOp factor) {
    std::vector<UOp> views;
    UOp u = factor;
    for (; info(u.op()).is(kMovement) || is_widening(u); u = u.src(0)) views.push_back(u);
    if (!u.is(Op::cast) || u.src(0).dtype() != factor.dtype() || !exponential_in(u.src(0))) return UOp();
    for (u = u.src(0); !views.empty(); views.pop_back())
        if (const UOp view = views.back(); !view.is(Op::cast)) u = make(view.op(), u.dtype(), {u}, view.arg());
    return u;
}

/// The sum whose weights are not rounded; empty: it has none, or they are not.
UOp with_wide_weights(UOp sum) {
    if (!reduces_last(sum, Op::add) || !sum.src(0).is(Op::mul)) return UOp();
    std::vector<UOp> factors(sum.src(0).src().begin(), sum.src(0).src().end());
    for (UOp& factor : factors)
        if (const UOp wide = without_rounding(factor)) {
            factor = wide;
            return sum.with_src(std::vector{sum.src(0).with_src(factors)});
        }
    return UOp();
}

std::optional<Attention> recognised_sum(UOp sum) {
    if (!reduces_last(sum, Op::add) || !sum.src(0).is(Op::mul) || sum.dtype().bits() < 32) return {};
    UOp e = exponential_in(sum.src(0));
    if (!e || !e.src(0).is(Op::sub)) return {};
    UOp scores = e.src(0).src(0), top = subtracted_top(e.src(0).src(1));
    if (!top || top.src(0) != scores || scores.shape().back() != sum.src(0).shape().back()) return {};
    UOp product = product_in(scores);
    if (!product) return {};
    return Attention{sum, top, product, sum, {}};
}

/// With `result` as its result.
std::optional<Attention> recognised(UOp result) {
    if (const UOp value = value_of_piece(result)) {
        std::optional<Attention> piece = recognised(value);
        if (piece) piece->result = result;
        return piece;
    }
    if (!result.is(Op::fdiv)) return recognised_sum(result);
    UOp sum = result.src(0), total = below_repeats(result.src(1));
    while (sum.is(Op::reshape)) sum = sum.src(0);
    if (!reduces_last(total, Op::add)) return {};
    std::optional<Attention> attention = recognised_sum(sum);
    if (!attention || total.src(0) != exponential_in(sum.src(0))) return {};
    attention->result = result;
    return attention;
}

/// A graph by the places of its nodes.
class Uses {
  public:
    explicit Uses(std::span<const UOp> order) : order_(order) {
        for (size_t i = 0; i < order.size(); ++i) {
            place_[order[i]] = i;
            for (UOp s : order[i].src()) ++uses_[s];
        }
    }

    /// Fills in what is inside; false where it is made in another way, or nothing of it is used.
    bool close(Attention& attention) {
        UOpSet inside{attention.product};
        attention.inside = {attention.product};
        used_.clear();
        for (const size_t i : places_between(attention)) {
            UOp u = order_[i];
            bool from_inside = false;
            for (UOp s : u.src())
                if (inside.contains(s)) from_inside = true, ++used_[s];
            if (!from_inside || u == attention.result) continue;
            const bool total = reduces_last(u, Op::add) && exponential_in(u.src(0)) == u.src(0);
            if (!info(u.op()).elementwise() && !u.is(Op::reshape) && !u.is(Op::expand) && u != attention.top &&
                u != attention.sum && !total)
                return false;
            inside.insert(u);
            attention.inside.push_back(u);
        }
        return inside.contains(attention.sum.src(0)) && inside.contains(attention.result.src(0)) &&
               std::ranges::all_of(attention.inside, [&](UOp u) { return used_[u] > 0; });
    }
    /// True if others use what is inside of the one that was closed last.
    bool is_shared(const Attention& attention) {
        return std::ranges::any_of(attention.inside, [&](UOp u) { return used_[u] != uses_.at(u); });
    }

  private:
    /// Places of the result's operations after the product, in order: other users of the product may stand among them.
    std::vector<size_t> places_between(const Attention& attention) const {
        const size_t first = place_.at(attention.product);
        std::vector<size_t> found{place_.at(attention.result)};
        UOpSet seen;
        for (size_t i = 0; i < found.size(); ++i)
            for (UOp s : order_[found[i]].src())
                if (const size_t at = place_.at(s); at > first && seen.insert(s).second) found.push_back(at);
        std::ranges::sort(found);
        return found;
    }

    std::span<const UOp> order_;
    UOpMap<size_t> place_, uses_, used_;
};

/// The same with nodes of its own, over what `made` says instead of others: of a factor that is recomputed another
/// product is made.
UOp copy_of(const Attention& attention, const UOpMap<UOp>& made) {
    UOpMap<UOp> copies;
    const auto copied = [&](UOp s) {
        const auto found = copies.find(s);
        return found != copies.end() ? found->second : made.at(s);
    };
    const UOp terms = attention.product.src(0), left = copied(terms.src(0)), factor = copied(terms.src(1));
    copies[terms] = terms.with_src(std::vector{left, make(Op::recompute, factor.dtype(), {factor})});
    std::vector<UOp> inside = attention.inside;
    inside.push_back(attention.result);
    for (UOp u : inside) {
        std::vector<UOp> sources;
        for (UOp s : u.src()) sources.push_back(copied(s));
        copies[u] = u.with_src(sources);
    }
    return copies.at(attention.result);
}

}  // namespace

UOp subtracted_top(UOp u) {
    u = below_detached(below_repeats(u));
    if (const UOp top = guarded_maximum(u)) u = top;
    return reduces_last(u, Op::max) ? u : UOp();
}

int64_t Attention::columns() const { return product.numel() == 0 ? 0 : sum.src(0).numel() / product.numel(); }

std::vector<Attention> find_attention(std::span<const UOp> order) {
    std::vector<Attention> found;
    std::optional<Uses> uses;
    for (UOp u : order) {
        std::optional<Attention> attention = recognised(u);
        if (!attention) continue;
        if (!uses) uses.emplace(order);
        if (uses->close(*attention) && !uses->is_shared(*attention)) found.push_back(*std::move(attention));
    }
    return found;
}

std::vector<Attention> find_attention(const ScheduleItem& item) {
    return find_attention(in_order(std::span(&item.body, 1)));
}

std::vector<UOp> widen_weights(std::span<const UOp> roots, const Policy& policy) {
    std::vector<UOp> out(roots.begin(), roots.end());
    const std::vector<UOp> order = in_order(roots);
    UOpMap<UOp> wide;
    for (UOp u : order)
        if (const UOp sum = with_wide_weights(u)) wide.emplace(u, sum);
    if (wide.empty()) return out;
    const auto rewritten = [&](const UOpMap<UOp>& sums, UOpMap<UOp>& made) {
        out = rebuild_all(roots, order, made, [&](UOp u, std::span<const UOp> sources) {
            const UOp next = u.with_src(sources);
            return sums.contains(u) ? with_wide_weights(next) : next;
        });
    };
    UOpMap<UOp> all, made, fused;
    rewritten(wide, all);
    UOpSet sums;
    for (const Attention& attention : find_attention(in_order(out)))
        if (!is_slower_fused(attention, policy)) sums.insert(attention.sum);
    for (const auto& [narrow, sum] : wide)
        if (sums.contains(all.at(narrow))) fused.emplace(narrow, sum);
    rewritten(fused, made);
    return out;
}

std::vector<UOp> separate_attention(std::span<const UOp> roots) {
    const std::vector<UOp> order = in_order(roots);
    std::vector<Attention> shared;
    UOpSet inside;
    Uses uses(order);
    for (UOp u : order) {
        std::optional<Attention> attention = recognised(u);
        if (!attention || !uses.close(*attention)) continue;
        inside.insert(attention->inside.begin(), attention->inside.end());  // a sum below its quotient is no other one
        if (uses.is_shared(*attention) && has_matrix_products(*attention)) shared.push_back(*std::move(attention));
    }
    UOpMap<const Attention*> results;
    for (const Attention& attention : shared)
        if (!inside.contains(attention.result)) results[attention.result] = &attention;
    if (results.empty()) return {roots.begin(), roots.end()};
    // In order, so that one attention after another has the copy of the first below it.
    UOpMap<UOp> made;
    return rebuild_all(roots, order, made, [&](UOp u, std::span<const UOp> sources) {
        const auto found = results.find(u);
        return found != results.end() ? copy_of(*found->second, made) : u.with_src(sources);
    });
}

}  // namespace strata::codegen
