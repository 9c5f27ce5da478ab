// store_layouts: operands of convolutions by matrix instructions in the order in which those read them.
//
// Before  reduce(windows(x) * repeated(w), terms)
// After   reduce(windows(contiguous(x padded, channels last)) * repeated(contiguous(w, terms last)), terms)
// A lane multiplies terms that follow each other. Those of x with its channels first are a load each, and stand in a
// condition where there is padding. The copy is read once for each element of a window and each tile of output
// channels.
#include <algorithm>
#include <optional>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int64_t kNeighbours = 8;  // elements that one load of 16 bytes brings
// Instructions of an element that is loaded by itself, in a condition where there is padding: its place, comparisons,
// the load. Each is loaded for every tile of kTileOfOther results of the other side.
constexpr double kLoadedAlone = 20, kTileOfOther = 64;
constexpr int kLeastAxes = 2;  // of windows: along one axis with 3 elements copies take 1.13 to 1.43 of it

UOp product_under(UOp sum) {
    UOp u = sum.src(0);
    while (info(u.op()).is(kMovement) || u.is(Op::cast)) u = u.src(0);
    return u;
}

/// A factor and what it is made of down to its operand: views, casts, and marks of gradients.
std::vector<UOp> chain_of(UOp factor, UOp operand) {
    std::vector<UOp> chain{factor};
    while (chain.back() != operand) chain.push_back(chain.back().src(0));
    return chain;
}

using Chain = std::span<const UOp>;

/// The first node below all repetitions.
size_t below_repetitions(Chain chain) {
    for (size_t i = chain.size(); i-- > 0;)
        if (chain[i].is(Op::expand)) return i + 1;
    return 0;
}

/// Along how many axes windows slide: axes that are repeated and then cut.
int sliding_axes(Chain chain) {
    int axes = 0;
    bool cut = false;
    for (UOp u : chain) {
        axes += u.is(Op::expand) && cut;
        cut = u.is(Op::shrink) || (cut && !u.is(Op::expand));
    }
    return axes;
}

/// Where an element of the first node lies among those of the last one; none: in its padding.
std::optional<int64_t> place_of(Chain chain, Shape at) {
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
        const UOp u = chain[i];
        const Shape& from = chain[i + 1].shape();
        Shape below = at;
        if (u.is(Op::reshape)) {
            int64_t flat = 0;
            for (size_t axis = 0; axis < at.size(); ++axis) flat = flat * u.shape()[axis] + at[axis];
            below.assign(from.size(), 0);
            for (size_t axis = from.size(); axis-- > 0; flat /= from[axis]) below[axis] = flat % from[axis];
        } else if (u.is(Op::permute)) {
            for (size_t axis = 0; axis < at.size(); ++axis)
                below[static_cast<size_t>(u.as<AxesArg>().axes[axis])] = at[axis];
        } else if (u.is(Op::flip)) {
            for (int axis : u.as<AxesArg>().axes) {
                int64_t& place = below[static_cast<size_t>(axis)];
                place = from[static_cast<size_t>(axis)] - 1 - place;
            }
        } else if (u.is(Op::expand)) {
            for (size_t axis = 0; axis < at.size(); ++axis)
                if (from[axis] == 1) below[axis] = 0;
        } else if (u.is(Op::shrink) || u.is(Op::pad)) {
            for (size_t axis = 0; axis < at.size(); ++axis) {
                const int64_t before = u.as<BoundsArg>().bounds[axis].first;
                below[axis] += u.is(Op::pad) ? -before : before;
                if (below[axis] < 0 || below[axis] >= from[axis]) return {};
            }
        }
        at = std::move(below);
    }
    int64_t flat = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) flat = flat * chain.back().shape()[axis] + at[axis];
    return flat;
}

/// True if the first terms of a sum in the middle are neighbours in the last node.
bool has_terms_together(Chain chain, size_t axis) {
    Shape at = chain[0].shape();
    const int64_t terms = std::min(at[axis], kNeighbours);
    for (int64_t& place : at) place /= 2;
    at[axis] = 0;
    const std::optional<int64_t> first = place_of(chain, at);
    for (; first && at[axis] < terms; ++at[axis])
        if (place_of(chain, at) != *first + at[axis]) return false;
    return first.has_value();
}

/// The part of a factor that must be in memory: with its channels last under windows, otherwise with its terms last.
/// None: it is.
UOp layout_of(Chain chain, size_t axis) {
    const size_t start = below_repetitions(chain);
    const DType type = chain.back().dtype();
    const bool windows = sliding_axes(chain) > 0;
    if (!windows && has_terms_together(chain, axis)) return {};
    for (size_t i = start; i + 1 < chain.size(); ++i) {
        if (chain[i].dtype() != type || (windows && chain[i].is(Op::reshape))) continue;
        if (windows) return chain[i].is(Op::permute) ? chain[i] : UOp();
        if (has_terms_together(chain.first(i + 1), axis)) return chain[i];
    }
    return {};
}

UOp with_layout(Chain chain, UOp layout) {
    UOp made = make(Op::contiguous, layout.dtype(), {layout});
    for (size_t i = static_cast<size_t>(std::ranges::find(chain, layout) - chain.begin()); i-- > 0;)
        made = chain[i].with_src(std::vector{made});
    return made;
}

UOp replaced(UOp u, UOp old, UOp made) {
    return u == old ? made : u.with_src(std::vector{replaced(u.src(0), old, made)});
}

/// A convolution whose operands lie as its instructions read them.
UOp with_layouts(UOp sum, const Policy& policy) {
    const MatrixProduct product = matrix_product_of(sum, policy.costs);
    if (!product) return sum;
    const double elements = static_cast<double>(product.left.numel() + product.right.numel());
    const double bytes = elements * product.left.dtype().bytes(),
                 loads = static_cast<double>(product.terms) / kTileOfOther;
    if (policy.fusion != Fusion::less &&
        policy.costs.vector(kLoadedAlone * loads) < policy.costs.stored(bytes) + policy.costs.launch())
        return sum;
    if (sum.as<ReduceArg>().axes.size() != 1 || !sum.src(0).is(Op::mul)) return sum;
    const UOp mul = product_under(sum);
    const std::vector<UOp> left = chain_of(mul.src(0), product.left), right = chain_of(mul.src(1), product.right);
    if (std::max(sliding_axes(left), sliding_axes(right)) < kLeastAxes) return sum;
    const auto axis = static_cast<size_t>(sum.as<ReduceArg>().axes[0]);
    std::vector<UOp> factors{mul.src(0), mul.src(1)};
    for (size_t i : {0, 1}) {
        const Chain chain = i == 0 ? left : right;
        const UOp layout = layout_of(chain, axis);
        if (layout && is_worth_storing(factors[i].numel() / layout.numel(), product.terms, policy.costs))
            factors[i] = with_layout(chain, layout);
    }
    return sum.with_src(std::vector{replaced(sum.src(0), mul, mul.with_src(factors))});
}

}  // namespace

std::vector<UOp> store_layouts(std::span<const UOp> roots, const Policy& policy) {
    if (policy.fusion == Fusion::more) return {roots.begin(), roots.end()};
    return rebuild_all(roots, [&](UOp u, std::span<const UOp> sources) {
        const UOp next = u.with_src(sources);
        return next.is(Op::reduce) ? with_layouts(next, policy) : next;
    });
}

}  // namespace strata::codegen
