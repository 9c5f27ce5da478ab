#include <algorithm>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/digits_p.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

/// Those that move, their strides rising where there are several.
std::vector<Leaf> rising(const Layout& L) {
    std::vector<Leaf> out = leaves_of(L);
    std::erase_if(out, [](const Leaf& leaf) { return leaf.size.is(1) || leaf.stride.is(0); });
    for (const Leaf& leaf : out)
        if (leaf.stride.integer().known() && leaf.stride.known() < 0)
            refuse("its stride {} falls", to_string(leaf.stride));
    if (out.size() > 1)
        std::ranges::sort(out, {}, [](const Leaf& leaf) { return std::pair(leaf.stride.known(), leaf.size.value()); });
    return out;
}

}  // namespace

Layout complement(const Layout& L, const Int& codomain) {
    return operation(
        "complement",
        [&] {
            if (codomain.known() && codomain.value() < 1)
                refuse("a codomain has a size from 1 on, not {}", codomain.value());
            std::vector<Leaf> gaps;
            Int filled = 1;
            for (const Leaf& leaf : rising(L)) {
                const Int& stride = leaf.stride.integer();
                if (!(stride == filled) && !filled.is(1) && stride.value() % filled.value())
                    refuse("the stride {} is no multiple of the {} indices that smaller strides fill", stride.value(),
                           filled.value());
                gaps.push_back({stride == filled ? Int(1) : floor_div(stride, filled), filled});
                filled = leaf.size * stride;
            }
            gaps.push_back({ceil_div(codomain, filled), filled});
            return coalesce(of_leaves(gaps));
        },
        L, IntTuple(codomain));
}

Layout right_inverse(const Layout& L) {
    return operation(
        "right_inverse",
        [&] {
            std::vector<Leaf> left = leaves_of(L), found;
            Int before = 1, reached = 1;
            for (Leaf& leaf : left) {
                const Int size = leaf.size;
                leaf.stride.integer();
                found.push_back({size, before});
                before = before * size;
            }
            std::vector<Leaf> out;
            for (size_t i = 0; i < left.size(); ++i) {
                if (left[i].size.is(1) || !(left[i].stride.integer() == reached)) continue;
                out.push_back(found[i]);
                reached = left[i].size * reached;
                left[i].size = 1;
                i = SIZE_MAX;  // from the first mode again
            }
            return coalesce(of_leaves(out));
        },
        L);
}

}  // namespace strata::layout
