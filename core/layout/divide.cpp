// Division of layouts, by which a TV layout gives each thread its values.
#include <algorithm>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

/// The two halves of a division or a product, each with a mode a mode of the tile.
struct Halves {
    Layout inner, outer;
};

Halves divided(const Layout& L, const Layout& tile) {
    const Layout out = composition(L, make_layout({tile, complement(tile, L.size())}));
    return {out.mode(0), out.mode(1)};
}

Halves multiplied(const Layout& block, const Layout& tile) {
    const Layout copies = complement(block, block.size() * cosize(tile));
    return {block, composition(copies, tile)};
}

using Split = Halves (*)(const Layout&, const Layout&);

Halves split(const Layout& L, const Tile& tile, Split of) {
    if (tile.is_none()) return {L, Layout()};
    if (!tile.is_tuple()) return of(L, tile.layout());
    std::vector<Layout> modes = L.modes(), inner, outer;
    if (tile.modes().size() > modes.size())
        refuse("the tile has {} modes, the layout {}", tile.modes().size(), modes.size());
    for (size_t i = 0; i < tile.modes().size(); ++i) {
        Halves halves = at_mode(i, [&] { return split(modes[i], tile.modes()[i], of); });
        inner.push_back(std::move(halves.inner));
        outer.push_back(std::move(halves.outer));
    }
    outer.insert(outer.end(), modes.begin() + static_cast<ptrdiff_t>(inner.size()), modes.end());
    return {unwrapped(std::move(inner)), unwrapped(std::move(outer))};
}

/// The halves of each mode side by side; a mode that passes is itself.
Layout logical(const Layout& L, const Tile& tile, Split of) {
    if (tile.is_none()) return L;
    if (!tile.is_tuple()) {
        const Halves halves = of(L, tile.layout());
        return make_layout({halves.inner, halves.outer});
    }
    std::vector<Layout> modes = L.modes();
    if (tile.modes().size() > modes.size())
        refuse("the tile has {} modes, the layout {}", tile.modes().size(), modes.size());
    for (size_t i = 0; i < tile.modes().size(); ++i)
        modes[i] = at_mode(i, [&] { return logical(modes[i], tile.modes()[i], of); });
    return unwrapped(std::move(modes));
}

enum class Form { zipped, tiled, flat };

Layout arranged(const Halves& halves, Form form) {
    if (form == Form::zipped) return make_layout({halves.inner, halves.outer});
    std::vector<Layout> modes = form == Form::flat ? halves.inner.modes() : std::vector{halves.inner};
    for (Layout& mode : halves.outer.modes()) modes.push_back(std::move(mode));
    return make_layout(modes);
}

Layout divide(const char* name, const Layout& L, const Tile& tile, Form form) {
    return operation(name, [&] { return arranged(split(L, tile, divided), form); }, L, tile);
}

Layout multiply(const char* name, const Layout& block, const Tile& tile, Form form) {
    return operation(name, [&] { return arranged(split(block, tile, multiplied), form); }, block, tile);
}

enum class Inside { block, tile };

Layout paired(const char* name, const Layout& block, const Layout& tile, Inside inside) {
    return operation(
        name,
        [&] {
            const int rank = static_cast<int>(std::max(block.rank(), tile.rank()));
            const Layout padded = append(block, Layout(), rank);
            const Halves halves = multiplied(padded, append(tile, Layout(), rank));
            std::vector<Layout> modes;
            for (size_t i = 0; i < padded.rank(); ++i) {
                const Layout copies = padded.rank() == 1 ? halves.outer : halves.outer.mode(i);
                modes.push_back(inside == Inside::block ? make_layout({padded.mode(i), copies})
                                                        : make_layout({copies, padded.mode(i)}));
            }
            return unwrapped(std::move(modes));
        },
        block, tile);
}

}  // namespace

Layout logical_divide(const Layout& L, const Tile& tile) {
    return operation("logical_divide", [&] { return logical(L, tile, divided); }, L, tile);
}
Layout zipped_divide(const Layout& L, const Tile& tile) { return divide("zipped_divide", L, tile, Form::zipped); }
Layout tiled_divide(const Layout& L, const Tile& tile) { return divide("tiled_divide", L, tile, Form::tiled); }
Layout flat_divide(const Layout& L, const Tile& tile) { return divide("flat_divide", L, tile, Form::flat); }

Layout logical_product(const Layout& block, const Tile& tile) {
    return operation("logical_product", [&] { return logical(block, tile, multiplied); }, block, tile);
}
Layout zipped_product(const Layout& block, const Tile& tile) {
    return multiply("zipped_product", block, tile, Form::zipped);
}
Layout tiled_product(const Layout& block, const Tile& tile) {
    return multiply("tiled_product", block, tile, Form::tiled);
}
Layout flat_product(const Layout& block, const Tile& tile) { return multiply("flat_product", block, tile, Form::flat); }

Layout blocked_product(const Layout& block, const Layout& tile) {
    return paired("blocked_product", block, tile, Inside::block);
}
Layout raked_product(const Layout& block, const Layout& tile) {
    return paired("raked_product", block, tile, Inside::tile);
}

Layout tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order) {
    return operation(
        "tile_to_shape",
        [&] {
            const Layout padded = append(block, Layout(), static_cast<int>(std::max(shape.rank(), block.rank())));
            const IntTuple sizes = product_each(shape), tile = product_each(padded.shape());
            if (block.rank() > shape.rank()) refuse("the block has {} modes, the shape {}", block.rank(), shape.rank());
            std::vector<IntTuple> copies;
            for (size_t i = 0; i < sizes.modes().size(); ++i) {
                const Int &size = sizes.modes()[i].integer(), &step = tile.modes()[i].integer();
                if (!step.is(1) && size.value() % step.value())
                    at_mode(i, [&] { refuse("blocks of {} do not fill {}", step.value(), size.value()); });
                copies.emplace_back(floor_div(size, step));
            }
            const Layout grid = make_ordered_layout(unwrap(copies), order);
            return coalesce(blocked_product(padded, grid), IntTuple(std::vector<IntTuple>(copies.size(), IntTuple(1))));
        },
        block, shape);
}

Layout tile_to_shape(const Layout& block, const IntTuple& shape) {
    std::vector<IntTuple> order;
    for (size_t i = 0; i < shape.rank(); ++i) order.emplace_back(static_cast<int64_t>(i));
    return tile_to_shape(block, shape, unwrap(std::move(order)));
}

TiledThreads make_layout_tv(const Layout& threads, const Layout& values) {
    return operation(
        "make_layout_tv",
        [&] {
            const Layout tile = raked_product(threads, values);
            const Layout pairs(IntTuple{threads.size(), values.size()});
            return TiledThreads{product_each(tile.shape()), composition(right_inverse(tile), pairs)};
        },
        threads, values);
}

}  // namespace strata::layout
