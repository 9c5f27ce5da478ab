#include "strata/core/layout/layout.h"

#include <algorithm>
#include <numeric>

#include "strata/core/layout/layout_error.h"
#include "strata/core/support/hash.h"

namespace strata::layout {
namespace {

void check_shape(const IntTuple& shape) {
    for_each_leaf(shape, [&](const IntTuple& leaf) {
        if (!leaf.is_integer()) refuse("the shape has the leaf {}: sizes are integers", to_string(leaf));
        if (leaf.integer().known() && leaf.known() < 1)
            refuse("the shape has the size {}: sizes are from 1 on", to_string(leaf));
    });
}

IntTuple compact(const IntTuple& shape) {
    Int step = 1;
    return map_leaves(shape, [&](const IntTuple& leaf) -> IntTuple {
        if (leaf.is(1)) return 0;
        const Int stride = step;
        step = step * leaf.integer();
        return stride;
    });
}

void check(const IntTuple& shape, const IntTuple& stride) {
    check_shape(shape);
    if (!congruent(shape, stride)) refuse("shape and stride are not congruent: each size has one stride");
    for_each_leaf(stride, [&](const IntTuple& leaf) {
        if (leaf.is_none()) refuse("the stride has a leaf that is no number");
    });
}

/// Strides that count the elements before a leaf in that order.
std::vector<IntTuple> compact_strides(const std::vector<Int>& sizes, const std::vector<size_t>& order) {
    std::vector<IntTuple> out(sizes.size());
    Int step = 1;
    for (const size_t i : order) {
        if (sizes[i].is(1)) continue;
        out[i] = step;
        step = step * sizes[i];
    }
    return out;
}

std::vector<Int> leaf_sizes(const IntTuple& shape) {
    std::vector<Int> out;
    for_each_leaf(shape, [&](const IntTuple& leaf) { out.push_back(leaf.integer()); });
    return out;
}

IntTuple with_leaves(const IntTuple& tree, const std::vector<IntTuple>& leaves) {
    size_t next = 0;
    return map_leaves(tree, [&](const IntTuple&) { return leaves[next++]; });
}

/// For each of the shape's leaves the order's leaf above it.
void spread(const IntTuple& order, const IntTuple& shape, std::vector<Int>& out) {
    if (order.is_tuple()) {
        if (!shape.is_tuple() || shape.rank() != order.rank())
            refuse("the order {} has not the modes of {}", to_string(order), to_string(shape));
        for (size_t i = 0; i < order.rank(); ++i) spread(order.mode(i), shape.mode(i), out);
        return;
    }
    for_each_leaf(shape, [&](const IntTuple&) { out.push_back(order.integer()); });
}

IntTuple ordered_strides(const IntTuple& shape, const std::vector<Int>& order) {
    std::vector<size_t> places(order.size());
    std::iota(places.begin(), places.end(), size_t{0});
    std::ranges::sort(places, {}, [&](size_t i) { return std::pair(order[i].value(), i); });
    return with_leaves(shape, compact_strides(leaf_sizes(shape), places));
}

/// The shape with 1 for what a stride of 0 repeats, and the strides' sizes as an order.
std::pair<IntTuple, std::vector<Int>> without_repeats(const Layout& L) {
    std::vector<Int> order;
    std::vector<IntTuple> sizes;
    for_each_leaf(L.stride(), [&](const IntTuple& leaf) {
        const int64_t stride = leaf.known();
        order.emplace_back(stride < 0 ? -stride : stride);
    });
    size_t next = 0;
    IntTuple shape =
        map_leaves(L.shape(), [&](const IntTuple& leaf) { return order[next++].is(0) ? IntTuple(1) : leaf; });
    return {std::move(shape), std::move(order)};
}

IntTuple identity_strides(const IntTuple& shape, Path& path) {
    if (!shape.is_tuple()) return IntTuple::basis(1, path);
    std::vector<IntTuple> modes;
    for (size_t i = 0; i < shape.rank(); ++i) {
        path.push_back(static_cast<int>(i));
        modes.push_back(identity_strides(shape.mode(i), path));
        path.pop_back();
    }
    return modes;
}

}  // namespace

Layout::Layout(IntTuple shape) : shape_(std::move(shape)) {
    operation(
        "Layout",
        [&] {
            check_shape(shape_);
            stride_ = compact(shape_);
        },
        shape_);
}

Layout::Layout(IntTuple shape, IntTuple stride) : shape_(std::move(shape)), stride_(std::move(stride)) {
    operation("Layout", [&] { check(shape_, stride_); }, shape_, stride_);
}

Layout Layout::mode(size_t i) const {
    if (i >= rank()) refuse("{} has {} modes, no mode {}", to_string(*this), rank(), i);
    return {Checked(), shape_.modes()[i], stride_.modes()[i]};
}

Layout Layout::at(std::span<const int> path) const { return {Checked(), shape_.at(path), stride_.at(path)}; }

std::vector<Layout> Layout::modes() const {
    std::vector<Layout> out;
    out.reserve(rank());
    for (size_t i = 0; i < rank(); ++i) out.push_back(mode(i));
    return out;
}

IntTuple Layout::operator()(const IntTuple& coordinate) const {
    return operation("crd2idx", [&] { return crd2idx(coordinate, shape_, stride_); }, coordinate, *this);
}

uint64_t Layout::hash() const { return hash_mix(shape_.hash(), stride_.hash()); }

std::string to_string(const Layout& L) { return to_string(L.shape()) + ":" + to_string(L.stride()); }

Layout make_layout(std::span<const Layout> modes) {
    std::vector<IntTuple> shapes, strides;
    shapes.reserve(modes.size());
    strides.reserve(modes.size());
    for (const Layout& mode : modes) {
        shapes.push_back(mode.shape());
        strides.push_back(mode.stride());
    }
    return Layout(std::move(shapes), std::move(strides));
}

Layout make_ordered_layout(const IntTuple& shape, const IntTuple& order) {
    return operation(
        "make_ordered_layout",
        [&] {
            check_shape(shape);
            std::vector<Int> of_leaves;
            spread(order, shape, of_leaves);
            return Layout(shape, ordered_strides(shape, of_leaves));
        },
        shape, order);
}

Layout make_layout_like(const Layout& L) {
    return operation(
        "make_layout_like",
        [&] {
            const auto [shape, order] = without_repeats(L);
            return Layout(L.shape(), ordered_strides(shape, order));
        },
        L);
}

Layout make_fragment_layout(const Layout& L) {
    return operation(
        "make_fragment_layout",
        [&] {
            auto [shape, order] = without_repeats(L);
            if (L.rank() == 0) return L;
            size_t first = 0;
            for_each_leaf(L.shape().mode(0), [&](const IntTuple&) { order[first++] = -1; });
            return Layout(L.shape(), ordered_strides(shape, order));
        },
        L);
}

Layout make_identity_layout(const IntTuple& shape) {
    return operation(
        "make_identity_layout",
        [&] {
            Path path;
            check_shape(shape);
            return Layout(shape, identity_strides(shape, path));
        },
        shape);
}

IntTuple coshape(const Layout& L) {
    return operation(
        "coshape",
        [&] {
            IntTuple last = 0;
            const IntTuple sizes = flatten(L.shape()), strides = flatten(L.stride());
            for (size_t i = 0; i < sizes.rank(); ++i) {
                const IntTuple& stride = strides.mode(i);
                const Int step =
                    stride.value().known() && stride.value().value() < 0 ? Int(0) - stride.value() : stride.value();
                const Int reach = (sizes.mode(i).integer() - Int(1)) * step;
                last = coordinate_sum(last, IntTuple::basis(reach, stride.path()));
            }
            return last + 1;
        },
        L);
}

Int cosize(const Layout& L) { return product(coshape(L)); }

}  // namespace strata::layout
