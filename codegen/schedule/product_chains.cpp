// find_product_chains: sums over rows of weights that are exponentials of products, which all may compute again.
//
// Weights are rounded to the type of the operands before they are multiplied, as in
// ops/autograd/gradient_of_attention.cpp: without that no matrix instruction has them.
#include "strata/codegen/schedule/product_chains.h"

#include <algorithm>
#include <optional>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr size_t kNear = 128;     // nodes between a sum and its products
constexpr int64_t kSide = 16;     // of matrix instructions
constexpr int64_t kWidest = 128;  // columns that their tiles have in registers
constexpr int64_t kFewRows = 32;  // below which tiles are mostly empty

bool sums_last(UOp u) {
    if (!u.is(Op::reduce) || u.as<ReduceArg>().op != Op::add || u.dtype() != dtypes::float32) return false;
    const std::vector<int>& axes = u.as<ReduceArg>().axes;
    return axes.size() == 1 && axes[0] + 1 == static_cast<int>(u.src(0).shape().size());
}

/// A sum over few columns of products of such values of one type.
bool is_product(UOp u, DType type) {
    if (!sums_last(u) || !u.src(0).is(Op::mul)) return false;
    const int64_t depth = u.src(0).shape().back();
    if (depth % kSide != 0 || depth > kWidest) return false;
    return std::ranges::all_of(u.src(0).src(), [&](UOp factor) {
        const UOp value = narrow_in(factor);
        if (!value || value.dtype() != type) return false;
        int64_t elements = factor.numel();
        for (UOp below = factor; below != value; below = below.src(0))
            elements = std::min(elements, below.src(0).numel());
        return factor.numel() >= kFewRows * elements;
    });
}

/// The nodes that lead from products to a value by arithmetic and movement.
class Inside {
  public:
    /// `also`: reductions of values computed from the products.
    Inside(DType type, std::vector<UOp> also) : type_(type), also_(std::move(also)) {}

    /// True if there are such products in it; false too where they are far.
    bool add(UOp u) {
        if (const auto [at, is_new] = leads_.try_emplace(u, false); !is_new) return at->second;
        if (leads_.size() > kNear) return false;
        bool leads = is_product(u, type_);
        const bool goes_on = info(u.op()).elementwise() || u.is(Op::reshape) || u.is(Op::expand) || u.is(Op::permute) ||
                             std::ranges::find(also_, u) != also_.end();
        if (!leads && goes_on)
            for (UOp s : u.src()) leads |= add(s);
        if (leads) nodes.push_back(u);
        return leads_[u] = leads;
    }
    bool is_near() const { return leads_.size() <= kNear; }

    std::vector<UOp> nodes;

  private:
    DType type_;
    std::vector<UOp> also_;
    UOpMap<bool> leads_;
};

/// An exponential that is a factor of `u`.
bool has_exponential(UOp u) {
    if (u.is(Op::mul)) return has_exponential(u.src(0)) || has_exponential(u.src(1));
    return u.is(Op::exp) || u.is(Op::exp2);
}

/// The rounded value in a factor that repeats, moves and widens it.
UOp rounded_in(UOp factor, DType type) {
    factor = source_of(factor);
    return factor.is(Op::cast) && factor.dtype() == type ? factor.src(0) : UOp();
}

std::optional<ProductChain> weighted_sum(UOp sum) {
    if (!sums_last(sum) || !sum.src(0).is(Op::mul)) return {};
    for (size_t side : {0, 1}) {
        const UOp weights = sum.src(0).src(side), values = narrow_in(sum.src(0).src(1 - side));
        if (!values) continue;
        const UOp wide = rounded_in(weights, values.dtype());
        if (!wide || !has_exponential(wide)) continue;
        const int64_t columns = weights.numel() / wide.numel();
        if (columns % kSide != 0 || columns > kWidest || sum.src(0).shape().back() < kFewRows) continue;
        Inside inside(values.dtype(), {});
        if (!inside.add(weights) || !inside.is_near()) continue;
        inside.nodes.push_back(sum.src(0));
        return ProductChain{sum, sum, std::move(inside.nodes)};
    }
    return {};
}

/// The logarithm, or it with another number for rows without scores.
std::optional<ProductChain> log_total(UOp u) {
    UOp log = u;
    while (log.is(Op::where) && log.src(1).is_const()) log = log.src(2);
    if (!log.is(Op::add) || !log.src(0).is(Op::log)) return {};
    UOp total = log.src(0).src(0);
    if (total.is(Op::where)) total = total.src(2);
    if (!sums_last(total) || !total.src(0).is(Op::exp) || !total.src(0).src(0).is(Op::sub)) return {};
    const UOp scores = total.src(0).src(0).src(0), top = subtracted_top(total.src(0).src(0).src(1));
    if (!top || top.src(0) != scores || subtracted_top(log.src(1)) != top || scores.shape().back() < kFewRows)
        return {};
    for (DType type : {dtypes::bfloat16, dtypes::float16}) {
        Inside inside(type, {top, total});
        if (!inside.add(u) || !inside.is_near()) continue;
        inside.nodes.pop_back();  // the result itself
        return ProductChain{total, u, std::move(inside.nodes)};
    }
    return {};
}

}  // namespace

UOp source_of(UOp factor) {
    while (info(factor.op()).is(kMovement) || is_widening(factor)) factor = factor.src(0);
    return factor;
}

UOp narrow_in(UOp factor) {
    factor = source_of(factor);
    return factor.dtype().is_float() && factor.dtype().bits() == 16 ? factor : UOp();
}

std::vector<ProductChain> find_product_chains(std::span<const UOp> order, const UOpSet& asked) {
    std::vector<ProductChain> found;
    for (UOp u : order) {
        std::optional<ProductChain> chain = weighted_sum(u);
        if (!chain) chain = log_total(u);
        if (!chain) continue;
        std::erase_if(found, [&](const ProductChain& before) {
            return before.sum == chain->sum && std::ranges::find(chain->inside, before.result) != chain->inside.end();
        });
        found.push_back(*std::move(chain));
    }
    // A chain ends where others than chains use what is inside: that is in memory in any case.
    for (size_t before = found.size() + 1; before != found.size();) {
        before = found.size();
        UOpSet inside, ends, stored = asked;
        for (const ProductChain& chain : found) {
            inside.insert(chain.inside.begin(), chain.inside.end());
            ends.insert(chain.result);
        }
        for (UOp u : order)
            if (!inside.contains(u) && !ends.contains(u))
                for (UOp s : u.src())
                    if (inside.contains(s)) stored.insert(s);
        std::erase_if(found, [&](const ProductChain& chain) {
            return std::ranges::any_of(chain.inside, [&](UOp u) { return stored.contains(u); });
        });
    }
    return found;
}

}  // namespace strata::codegen
