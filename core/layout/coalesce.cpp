#include "strata/core/layout/algebra.h"
#include "strata/core/layout/digits_p.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {

std::vector<Leaf> leaves_of(const Layout& L) {
    std::vector<Leaf> out;
    out.reserve(8);
    for_each_leaf(L.shape(), [&](const IntTuple& size) { out.push_back({size.integer(), 0}); });
    size_t next = 0;
    for_each_leaf(L.stride(), [&](const IntTuple& stride) { out[next++].stride = stride; });
    return out;
}

Layout of_leaves(const std::vector<Leaf>& leaves) {
    if (leaves.empty()) return Layout();
    if (leaves.size() == 1) return Layout(leaves[0].size, leaves[0].size.is(1) ? IntTuple(0) : leaves[0].stride);
    std::vector<IntTuple> shape, stride;
    shape.reserve(leaves.size());
    stride.reserve(leaves.size());
    for (const Leaf& leaf : leaves) {
        shape.emplace_back(leaf.size);
        stride.push_back(leaf.size.is(1) ? IntTuple(0) : leaf.stride);
    }
    return Layout(std::move(shape), std::move(stride));
}

bool continues(const Leaf& leaf, const IntTuple& next) {
    if (next.is_tuple() || next.is_none() || next.path() != leaf.stride.path()) return false;
    int64_t step = 0;
    const Int& stride = leaf.stride.value();
    if (leaf.size.known() && stride.known())  // a product beyond 64 bits is no stride
        return next.value().known() && !__builtin_mul_overflow(leaf.size.value(), stride.value(), &step) &&
               step == next.value().value();
    return leaf.size * stride == next.value();
}

Layout coalesce(const Layout& L) {
    std::vector<Leaf> out;
    for (Leaf& leaf : leaves_of(L)) {
        if (leaf.size.is(1)) continue;
        if (!out.empty() && continues(out.back(), leaf.stride))
            out.back().size = out.back().size * leaf.size;
        else
            out.push_back(std::move(leaf));
    }
    return of_leaves(out);
}

Layout coalesce(const Layout& L, const IntTuple& profile) {
    if (profile.is_none()) return L;
    if (!profile.is_tuple()) return coalesce(L);
    return operation(
        "coalesce",
        [&] {
            std::vector<Layout> modes = L.modes();
            if (profile.rank() > modes.size())
                refuse("the profile has {} modes, the layout {}", profile.rank(), modes.size());
            for (size_t i = 0; i < profile.rank(); ++i)
                modes[i] = at_mode(i, [&] { return coalesce(modes[i], profile.mode(i)); });
            return L.shape().is_tuple() ? make_layout(modes) : modes[0];
        },
        L, profile);
}

}  // namespace strata::layout
