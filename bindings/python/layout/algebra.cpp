#include "layout/layout_p.h"

namespace strata::python {
namespace {

using namespace py::literals;
using ByTile = lo::Layout (*)(const lo::Layout&, const lo::Tile&);

template <ByTile f>
Tree by_tile(py::handle L, py::handle tile) {
    const lo::Tile of = to_tile(tile);
    return of_layout(L, [&](const lo::Layout& x) { return f(x, of); });
}

void bind_functions_of_layouts(LayoutFunctions& m) {
    m.def(
        "coalesce",
        [](LayoutLike L, TupleLike profile) -> Tree {
            if (profile.is_none()) return of_layout(L, [](const lo::Layout& x) { return lo::coalesce(x); });
            return of_layout(L, [p = to_int_tuple(profile)](const lo::Layout& x) { return lo::coalesce(x, p); });
        },
        "layout"_a, "profile"_a = py::none(),
        "The same indices for integers below the size, in as few modes as there can be; with a profile within each "
        "leaf of it.");
    m.def(
        "composition",
        [](AnyLike A, As<"AnyLayout | TileLike"> B) -> Tree {
            const lo::ComposedLayout* after = as_composed(B);
            if (after || !has_layout(A)) return py::cast(lo::make_composed_layout(to_any(A), 0, to_any(B)));
            const lo::Tile tile = to_tile(B);
            return of_layout(A, [&](const lo::Layout& x) {
                return tile.is_tuple() || tile.is_none() ? lo::composition(x, tile) : lo::composition(x, tile.layout());
            });
        },
        "a"_a, "b"_a,
        "R(c) = a(b(c)) for every coordinate c of b; by mode where b is a tuple or tile. LayoutError where no layout "
        "is R.");
    m.def(
        "complement",
        [](LayoutLike L, TupleLike codomain) {
            const lo::Layout& layout = to_layout(L);
            return codomain.is_none() ? lo::complement(layout)
                                      : lo::complement(layout, lo::product(to_int_tuple(codomain)));
        },
        "layout"_a, "codomain"_a = py::none(),
        "The layout that, with this one, fills 0 to codomain - 1 or beyond, and has no index but 0 in common with it.");
    m.def(
        "right_inverse", [](LayoutLike L) { return lo::right_inverse(to_layout(L)); }, "layout"_a,
        "layout(R(i)) = i for every i below the size of R.");
    m.def(
        "left_inverse", [](LayoutLike L) { return lo::left_inverse(to_layout(L)); }, "layout"_a,
        "R(layout(c)) = c for every coordinate c. LayoutError where two coordinates have one index, or no layout is "
        "R.");
    m.def(
        "is_injective", [](LayoutLike L) { return lo::is_injective(to_layout(L)); }, "layout"_a,
        "Has every coordinate an index of its own?");
    m.def(
        "recast_layout",
        [](AnyLike L, TupleLike old_bits, TupleLike new_bits) -> Tree {
            const int from = to_small(old_bits, "old_bits"), to = to_small(new_bits, "new_bits");
            if (const lo::ComposedLayout* composed = as_composed(L))
                return py::cast(lo::recast_layout(*composed, from, to));
            const lo::AnyLayout any = to_any(L);
            if (const auto* swizzle = std::get_if<lo::Swizzle>(&any))
                return py::cast(lo::recast_layout(*swizzle, from, to));
            return py::cast(lo::recast_layout(to_layout(L), from, to));
        },
        "layout"_a, "old_bits"_a, "new_bits"_a,
        "The layout over elements of new_bits that has the same bits as this one of old_bits. LayoutError where there "
        "is none.");
}

void bind_divides(LayoutFunctions& m) {
    constexpr const char* kTile =
        "By mode of a tile: integers, layouts, None for a mode that stays; shorter tiles leave modes as they are. ";
    const auto text = [&](const char* result) { return std::string(kTile) + result; };
    m.def(
        "logical_divide", [](LayoutLike L, TileLike t) { return by_tile<lo::logical_divide>(L, t); }, "layout"_a,
        "tile"_a, text("((tile, rest), ...)").c_str());
    m.def(
        "zipped_divide", [](LayoutLike L, TileLike t) { return by_tile<lo::zipped_divide>(L, t); }, "layout"_a,
        "tile"_a, text("((tile, ...), (rest, ...))").c_str());
    m.def(
        "tiled_divide", [](LayoutLike L, TileLike t) { return by_tile<lo::tiled_divide>(L, t); }, "layout"_a, "tile"_a,
        text("((tile, ...), rest, ...)").c_str());
    m.def(
        "flat_divide", [](LayoutLike L, TileLike t) { return by_tile<lo::flat_divide>(L, t); }, "layout"_a, "tile"_a,
        text("(tile, ..., rest, ...)").c_str());
    m.def(
        "logical_product", [](LayoutLike L, TileLike t) { return by_tile<lo::logical_product>(L, t); }, "block"_a,
        "tile"_a, "(block, copies): copies of the block as the tile arranges them; by mode where the tile is a tuple.");
    m.def(
        "zipped_product", [](LayoutLike L, TileLike t) { return by_tile<lo::zipped_product>(L, t); }, "block"_a,
        "tile"_a, "((block, ...), (copies, ...))");
    m.def(
        "tiled_product", [](LayoutLike L, TileLike t) { return by_tile<lo::tiled_product>(L, t); }, "block"_a, "tile"_a,
        "((block, ...), copies, ...)");
    m.def(
        "flat_product", [](LayoutLike L, TileLike t) { return by_tile<lo::flat_product>(L, t); }, "block"_a, "tile"_a,
        "(block, ..., copies, ...)");
    m.def(
        "blocked_product",
        [](LayoutLike L, LayoutLike t) -> Tree {
            return of_layout(L, [&](const lo::Layout& x) { return lo::blocked_product(x, to_layout(t)); });
        },
        "block"_a, "tile"_a, "((block, copies), ...) by mode: elements of a block side by side.");
    m.def(
        "raked_product",
        [](LayoutLike L, LayoutLike t) -> Tree {
            return of_layout(L, [&](const lo::Layout& x) { return lo::raked_product(x, to_layout(t)); });
        },
        "block"_a, "tile"_a, "((copies, block), ...) by mode: copies side by side.");
    m.def(
        "tile_to_shape",
        [](LayoutLike L, TupleLike shape, TupleLike order) -> Tree {
            const lo::IntTuple to = to_int_tuple(shape);
            if (order.is_none()) return of_layout(L, [&](const lo::Layout& x) { return lo::tile_to_shape(x, to); });
            return of_layout(
                L, [&, by = to_int_tuple(order)](const lo::Layout& x) { return lo::tile_to_shape(x, to, by); });
        },
        "block"_a, "shape"_a, "order"_a = py::none(),
        "Copies of a block that fill a shape, the first mode first or by order. LayoutError where they do not fill "
        "it.");
}

void bind_partitions(LayoutFunctions& m) {
    m.def(
        "make_layout_tv", [](LayoutLike threads, LayoutLike values) -> As<"tuple[Any, Layout]"> {
            const auto [tiler, tv] = lo::make_layout_tv(to_layout(threads), to_layout(values));
            return py::object(py::make_tuple(from_int_tuple(tiler), tv));
        },
        "threads"_a, "values"_a,
        "(tiler, tv): the tile that threads and the values of each make, and (thread, value) -> its coordinate.");
    m.def(
        "local_tile", [](LayoutLike L, TileLike tile, TupleLike coordinate) -> As<"tuple[Any, Any]"> {
            return part(L, [t = to_tile(tile), c = to_int_tuple(coordinate)](const lo::Layout& x) {
                return lo::local_tile(x, t, c);
            });
        },
        "layout"_a, "tile"_a, "coordinate"_a,
        "(layout, offset) of the tile at a coordinate; where it has None, of all tiles of the mode.");
    m.def(
        "local_partition", [](LayoutLike L, LayoutLike threads, TupleLike i) -> As<"tuple[Any, Any]"> {
            return part(
                L, [&, n = to_int(i)](const lo::Layout& x) { return lo::local_partition(x, to_layout(threads), n); });
        },
        "layout"_a, "threads"_a, "i"_a, "(layout, offset) of what thread i of a layout of threads has.");
}

}  // namespace

void bind_layout_algebra(LayoutFunctions& m) {
    bind_functions_of_layouts(m);
    bind_divides(m);
    bind_partitions(m);
}

}  // namespace strata::python
