// invariant_axes: a reduction that is the same all along an axis is computed once and repeated.
//
// Before  reduce(f(expand(a), b)), where f does not vary along an axis that stays: ones @ b, as in the gradient of a
//         sum of products
// After   expand(reduce(f(a, b)))
// Only where that saves more than the launch that may come on top: the one reduction may be stored, and then repeated
// by a reader.
#include <algorithm>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int kDeepest = 256;  // views above a shrink are remade up to here

using Axes = uint64_t;  // a bit an axis
constexpr size_t kMostAxes = 64;

Axes bit(size_t axis) { return Axes{1} << axis; }

/// Axes of more than one element.
Axes long_axes(const Shape& shape) {
    Axes out = 0;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] != 1) out |= bit(i);
    return out;
}

/// Axes of a reshape along which it varies: of each group of axes with one product of sizes all, where any of its
/// source does.
Axes through_reshape(Axes varies, const Shape& from, const Shape& to) {
    if (varies == 0) return 0;
    Axes out = 0;
    for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
        int64_t a = 1, b = 1;
        Axes sources = 0, results = 0;
        do {
            const bool takes_source = j == to.size() || (i < from.size() && a <= b);
            if (takes_source)
                sources |= bit(i), a *= from[i++];
            else
                results |= bit(j), b *= to[j++];
        } while (a != b && (i < from.size() || j < to.size()));
        if (varies & sources) out |= results;
    }
    return out & long_axes(to);
}

/// Axes along which the values of a node may differ.
Axes varying(UOp u, const UOpMap<Axes>& of) {
    const Shape& shape = u.shape();
    const auto is_flat = [](UOp x) { return x.shape().size() <= kMostAxes; };
    if (!is_flat(u) || !std::ranges::all_of(u.src(), is_flat)) return ~Axes{0};
    if (u.is(Op::constant)) return 0;
    if (info(u.op()).elementwise()) {
        Axes out = 0;
        for (UOp s : u.src()) out |= s.shape().empty() ? 0 : of.at(s);
        return out;
    }
    switch (u.op()) {
        case Op::expand:
        case Op::flip:
        case Op::contiguous: return of.at(u.src(0));
        case Op::shrink: return of.at(u.src(0)) & long_axes(shape);
        case Op::reshape: return through_reshape(of.at(u.src(0)), u.src(0).shape(), shape);
        case Op::reduce: return of.at(u.src(0)) & long_axes(shape);
        case Op::permute: {
            Axes out = 0;
            const std::vector<int>& axes = u.as<AxesArg>().axes;
            for (size_t i = 0; i < axes.size(); ++i)
                if (of.at(u.src(0)) & bit(static_cast<size_t>(axes[i]))) out |= bit(i);
            return out;
        }
        default: return long_axes(shape);
    }
}

bool is_one(UOp u) {
    while ((info(u.op()).is(kMovement) && !u.is(Op::pad)) || u.is(Op::cast)) u = u.src(0);
    return u.is_const(1);
}

/// The first element of a node along an axis that it does not vary along. Expansions on the way become shorter, so that
/// nothing is repeated first.
UOp first_along(UOp u, size_t axis, int depth = 0) {
    Shape shape = u.shape();
    if (shape.empty() || shape[axis] == 1) return u;
    shape[axis] = 1;
    if (info(u.op()).elementwise() && depth < kDeepest) {
        std::vector<UOp> sources;
        for (UOp s : u.src()) sources.push_back(first_along(s, axis, depth + 1));
        if (u.is(Op::mul))  // a value that is stored is then the factor, in its own type
            for (size_t i = 0; i < 2; ++i)
                if (is_one(sources[i]) && sources[1 - i].shape() == shape) return sources[1 - i];
        return u.with_src(sources);
    }
    if (u.is(Op::expand)) {
        const UOp source = first_along(u.src(0), axis, depth + 1);
        return source.shape() == shape ? source : make(Op::expand, u.dtype(), {source}, ShapeArg{shape});
    }
    if (u.is(Op::permute))
        return u.with_src(
            std::vector{first_along(u.src(0), static_cast<size_t>(u.as<AxesArg>().axes[axis]), depth + 1)});
    std::vector<std::pair<int64_t, int64_t>> bounds;
    for (size_t i = 0; i < shape.size(); ++i) bounds.emplace_back(0, shape[i]);
    return make(Op::shrink, u.dtype(), {u}, BoundsArg{bounds});
}

UOp computed_once(UOp reduction, Axes same) {
    const Shape shape = reduction.shape();
    UOp body = reduction.src(0);
    for (size_t axis = 0; axis < shape.size(); ++axis)
        if (same & bit(axis)) body = first_along(body, axis);
    const UOp once = reduction.with_src(std::vector{body});
    return make(Op::expand, once.dtype(), {once}, ShapeArg{shape});
}

bool saves_enough(UOp reduction, Axes same, const CostModel& costs) {
    int64_t repeats = 1;
    for (size_t axis = 0; axis < reduction.shape().size(); ++axis)
        if (same & bit(axis)) repeats *= reduction.shape()[axis];
    const int64_t terms = reduction.src(0).numel();
    const auto saved = static_cast<double>((terms - terms / repeats) * reduction.src(0).dtype().bytes());
    return repeats > 1 && costs.memory(saved) >= costs.launch();
}

}  // namespace

std::vector<UOp> compute_invariant_once(std::span<const UOp> roots, const CostModel& costs) {
    UOpMap<Axes> varies;
    UOpMap<UOp> made;
    std::vector<UOp> sources;
    for (UOp u : in_order(roots)) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(made.at(s));
        UOp now = u.with_src(sources);
        varies[u] = varying(u, varies);
        if (u.is(Op::reduce) && varies[u] != ~Axes{0})
            if (const Axes same = long_axes(u.shape()) & ~varies[u]; saves_enough(u, same, costs))
                now = computed_once(now, same);
        made[u] = now;
    }
    std::vector<UOp> out;
    for (UOp root : roots) out.push_back(made.at(root));
    return out;
}

}  // namespace strata::codegen
