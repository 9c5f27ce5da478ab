#include <bit>
#include <numeric>

#include "strata/core/layout/composed.h"
#include "strata/core/layout/digits_p.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

constexpr int kMostElementBits = 1 << 20;

/// Numbers of old and of new elements that hold the same bits.
struct Ratio {
    int64_t split, joined;  ///< each old element is split into `split` parts, and `joined` of these are joined
};

Ratio ratio_of(int old_bits, int new_bits) {
    for (const int bits : {old_bits, new_bits})
        if (bits < 1 || bits > kMostElementBits) refuse("an element has from 1 bit on, not {}", bits);
    const int common = std::gcd(old_bits, new_bits);
    return {old_bits / common, new_bits / common};
}

/// The leaf whose steps are elements side by side takes the parts of an element; so can a mode of one element.
void split_elements(std::vector<Leaf>& leaves, int64_t parts) {
    if (parts == 1) return;
    Leaf* inside = nullptr;
    for (Leaf& leaf : leaves)
        if (!inside && leaf.stride.is(1) && !leaf.size.is(1)) inside = &leaf;
    for (Leaf& leaf : leaves)
        if (!inside && leaf.size.is(1)) inside = &leaf;
    if (!inside) refuse("no mode goes from element to element, so none can take the {} parts of each", parts);
    for (Leaf& leaf : leaves)
        if (&leaf != inside) leaf.stride = leaf.stride * IntTuple(parts);
    *inside = {inside->size * Int(parts), 1};
}

/// Divides the leaves by `parts` contiguous elements, from the first on.
void join_elements(std::vector<Leaf>& leaves, int64_t parts) {
    for (int64_t joined = 1; joined < parts;) {
        Leaf* next = nullptr;
        for (Leaf& leaf : leaves)
            if (!next && leaf.stride.is(joined) && !leaf.size.is(1)) next = &leaf;
        if (!next) refuse("only {} of the {} elements that make a new one lie side by side", joined, parts);
        const int64_t wanted = parts / joined;
        const bool whole = surely_divides(wanted, next->size);
        const int64_t taken = whole ? wanted : next->size.value();
        if (wanted % taken)
            refuse("a mode of {} elements does not hold whole ones of {} each", next->size.value(), parts);
        next->size = floor_div(next->size, taken);
        joined *= taken;
        next->stride = next->size.is(1) ? 0 : joined;
    }
    for (Leaf& leaf : leaves) {
        if (leaf.size.is(1)) {
            leaf.stride = 0;
            continue;
        }
        if (!surely_divides(parts, leaf.stride.integer()))
            refuse("the stride {} is no multiple of the {} elements that make a new one", to_string(leaf.stride),
                   parts);
        leaf.stride = floor_div(leaf.stride.integer(), parts);
    }
}

Int recast_offset(const Int& offset, const Ratio& ratio) {
    const Int parts = offset * Int(ratio.split);
    if (!surely_divides(ratio.joined, parts)) refuse("the offset {} begins within a new element", to_string(offset));
    return floor_div(parts, ratio.joined);
}

}  // namespace

Layout recast_layout(const Layout& L, int old_bits, int new_bits) {
    return operation(
        "recast_layout",
        [&] {
            const Ratio ratio = ratio_of(old_bits, new_bits);
            if (ratio.split == ratio.joined) return L;
            std::vector<Leaf> leaves = leaves_of(L);
            split_elements(leaves, ratio.split);
            if (ratio.joined > 1) join_elements(leaves, ratio.joined);
            size_t size = 0, stride = 0;
            return Layout(map_leaves(L.shape(), [&](const IntTuple&) { return IntTuple(leaves[size++].size); }),
                          map_leaves(L.shape(), [&](const IntTuple&) { return leaves[stride++].stride; }));
        },
        L);
}

Swizzle recast_layout(const Swizzle& s, int old_bits, int new_bits) {
    return operation(
        "recast_layout",
        [&] {
            const auto [split, joined] = ratio_of(old_bits, new_bits);
            if (!std::has_single_bit(static_cast<uint64_t>(split)) ||
                !std::has_single_bit(static_cast<uint64_t>(joined)))
                refuse("elements of {} and {} bits have no power of two between them", old_bits, new_bits);
            const int base = s.base() + std::countr_zero(static_cast<uint64_t>(split)) -
                             std::countr_zero(static_cast<uint64_t>(joined));
            if (base < 0) refuse("it moves parts of an element of {} bits", new_bits);
            return Swizzle(s.bits(), base, s.shift());
        },
        s);
}

ComposedLayout recast_layout(const ComposedLayout& L, int old_bits, int new_bits) {
    return operation(
        "recast_layout",
        [&] {
            const Ratio ratio = ratio_of(old_bits, new_bits);
            std::vector<ComposedLayout::Stage> stages(L.stages().begin(), L.stages().end());
            for (ComposedLayout::Stage& stage : stages) {
                const auto* swizzle = std::get_if<Swizzle>(&stage.inner);
                if (!swizzle) refuse("elements are recast under swizzles of indices alone");
                stage = {recast_layout(*swizzle, old_bits, new_bits), recast_offset(stage.offset.integer(), ratio)};
            }
            return ComposedLayout(std::move(stages), recast_layout(L.base(), old_bits, new_bits));
        },
        L);
}

}  // namespace strata::layout
