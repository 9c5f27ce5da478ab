// split_reductions: one large reduction -> two.
//
// Before  reduce(x, axes) over n elements a result, few results
// After   reduce(contiguous(reduce(reshape(x to (..., m, k, ...)), k)), m): m partial results a result, each of k
//         elements that follow one another, which a block shares. Of columns it is reshaped to (..., k, m, ...), so
//         that neighbouring threads of the first stage read neighbouring elements.
// Runs before plan_storage because the partial results need memory of their own.

#include <algorithm>
#include <optional>
#include <ranges>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/paired_reductions_p.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

using Nodes = UOpSet;

/// The work of one kernel of attention: its products, and all of it where its keys are not divided.
struct OfAttention {
    Nodes products, whole;
};
OfAttention of_attention(std::span<const UOp> order, const Policy& policy, std::span<const ProductChain> chains) {
    OfAttention found;
    for (const ProductChain& chain : chains) {
        found.whole.insert(chain.sum);
        found.whole.insert(chain.inside.begin(), chain.inside.end());
    }
    for (const Attention& attention : find_attention(order)) {
        if (is_slower_fused(attention, policy)) continue;
        Nodes& into = has_few_rows(attention) ? found.products : found.whole;
        into.insert(attention.sum), into.insert(attention.product);
        if (!has_few_rows(attention)) into.insert(attention.inside.begin(), attention.inside.end());
    }
    return found;
}

/// The pairs of a graph, by their second reductions; and their first ones.
struct Pairs {
    UOpMap<PairedReduction> ending;
    Nodes firsts;
};
Pairs pairs_in(std::span<const UOp> order, const Policy& policy) {
    Pairs pairs;
    if (policy.fusion == Fusion::less) return pairs;
    for (UOp u : order)
        if (const PairedReduction pair = paired_reduction_of(u, policy.costs); pair.second)
            pairs.ending[u] = pair, pairs.firsts.insert(pair.first);
    return pairs;
}

/// Values that are repeated later, with or without further operations: rows that one kernel may walk again.
Nodes repeated_in(std::span<const UOp> order) {
    Nodes repeated;
    for (const UOp u : std::views::reverse(order)) {
        if (u.is(Op::reduce) || !(u.is(Op::expand) || repeated.contains(u))) continue;
        for (UOp source : u.src()) repeated.insert(source);
    }
    return repeated;
}

/// True if a reduction goes through rows whose results, of another one along them, were repeated for it.
bool walks_again(UOp u, const Nodes& repeated) {
    return std::ranges::any_of(toposort(u.src(0)), [&](UOp other) {
        return other.is(Op::reduce) && repeated.contains(other) && other.src(0).shape() == u.src(0).shape() &&
               other.as<ReduceArg>().axes == u.as<ReduceArg>().axes;
    });
}

}  // namespace

std::vector<UOp> split_reductions(std::span<const UOp> roots, const Policy& policy, bool has_product_chains) {
    const std::vector<UOp> order = in_order(roots);
    std::vector<ProductChain> chains;
    if (has_product_chains && policy.fusion != Fusion::less)
        chains = find_product_chains(order, UOpSet(roots.begin(), roots.end()));
    const OfAttention attention = of_attention(order, policy, chains);
    const Pairs pairs = pairs_in(order, policy);
    const Nodes repeated = repeated_in(order);
    const auto pieces_of = [&](UOp u) -> std::optional<TwoStage> {
        if (pairs.firsts.contains(u)) return two_stage_of(u, kMostOfPair, policy.costs);
        if (is_two_stage(u, policy.costs)) return two_stage_of(u, policy.costs);
        if (policy.fusion == Fusion::less || repeated.contains(u) || !leaves_card_idle(u, policy.costs) ||
            walks_again(u, repeated))
            return {};
        return stages_of_columns(u, policy.costs);
    };
    UOpMap<UOp> rebuilt;
    return rebuild_all(roots, order, rebuilt, [&](UOp u, std::span<const UOp> sources) {
        UOp next = u.with_src(sources);
        if (!u.is(Op::reduce) || attention.whole.contains(u)) return next;
        if (const auto pair = pairs.ending.find(u); pair != pairs.ending.end())
            return merged_pair(pair->second, rebuilt.at(pair->second.x), rebuilt.at(pair->second.shift), policy.costs);
        if (const std::vector<UOp> products = matrix_products_in(next, policy.costs); !products.empty()) {
            UOp total;
            for (UOp product : products) {
                const UOp part = is_tiled_product(product) ? split_k(product, policy) : product;
                total = total ? make(Op::add, u.dtype(), {total, part}) : part;
            }
            return total;
        }
        if (!is_tiled_product(u)) {
            const std::optional<TwoStage> pieces = pieces_of(u);
            return pieces ? reshaped(two_stages(*pieces, next.src(0), u.as<ReduceArg>().op), u.shape()) : next;
        }
        return attention.products.contains(u) ? next : split_k(next, policy);
    });
}

}  // namespace strata::codegen
