#include "strata/core/layout/modes.h"
#include "layout/layout_p.h"

namespace strata::python {
namespace {

using namespace py::literals;

std::vector<int> modes_from(const py::args& given) {
    if (given.size() == 1 && (PyTuple_Check(given[0].ptr()) || PyList_Check(given[0].ptr()))) return to_path(given[0]);
    return to_path(given);
}

/// append and prepend take a mode of the kind that they extend.
template <class F>
Tree extended(py::handle t, py::handle mode, py::handle rank, F f) {
    const int n = rank.is_none() ? -1 : to_small(rank, "a rank");
    if (!rank.is_none() && n < 0) lo::refuse("a rank is from 0 on, not {}", n);
    if (has_layout(t)) {
        const lo::Layout more = mode.is_none() ? lo::Layout() : to_layout(mode);
        return of_layout(t, [&](const lo::Layout& L) { return f(L, more, n); });
    }
    return from_int_tuple(f(to_int_tuple(t), mode.is_none() ? lo::IntTuple(1) : to_int_tuple(mode), n));
}

void bind_parts(LayoutFunctions& m) {
    m.def(
        "get",
        [](TreeLike t, const py::args& modes) -> Tree {
            const lo::Path path = modes_from(modes);
            return of_tree(t, [&](const auto& x) { return lo::get(x, path); });
        },
        "a"_a, "A mode, given from the outside in.");
    m.def(
        "select",
        [](TreeLike t, const py::args& modes) -> Tree {
            const std::vector<int> chosen = modes_from(modes);
            return of_tree(t, [&](const auto& x) { return lo::select(x, chosen); });
        },
        "a"_a, "Some modes in an order; one alone is itself.");
    m.def(
        "take",
        [](TreeLike t, TupleLike begin, TupleLike end) -> Tree {
            const int first = to_small(begin, "a mode"), last = to_small(end, "a mode");
            return of_tree(t, [&](const auto& x) { return lo::take(x, first, last); });
        },
        "a"_a, "begin"_a, "end"_a, "Modes begin to end - 1; one alone is itself.");
    m.def(
        "group",
        [](TreeLike t, TupleLike begin, TupleLike end) -> Tree {
            const int first = to_small(begin, "a mode"), last = to_small(end, "a mode");
            return of_tree(t, [&](const auto& x) { return lo::group(x, first, last); });
        },
        "a"_a, "begin"_a, "end"_a, "Modes begin to end - 1 as one mode.");
}

void bind_other_parts(LayoutFunctions& m) {
    m.def(
        "append",
        [](TreeLike t, TreeLike mode, TupleLike rank) -> Tree {
            return extended(t, mode, rank, [](const auto& x, const auto& y, int n) { return lo::append(x, y, n); });
        },
        "a"_a, "mode"_a = py::none(), "rank"_a = py::none(),
        "With a mode more, 1:0 by default; with a rank, as many as that takes.");
    m.def(
        "prepend",
        [](TreeLike t, TreeLike mode, TupleLike rank) -> Tree {
            return extended(t, mode, rank, [](const auto& x, const auto& y, int n) { return lo::prepend(x, y, n); });
        },
        "a"_a, "mode"_a = py::none(), "rank"_a = py::none(), "The same in front.");
    m.def(
        "slice",
        [](TreeLike t, TupleLike coordinate) -> Tree {
            const lo::IntTuple c = to_int_tuple(coordinate);
            if (const lang::View* view = as_view(t)) return py::cast(view->slice(c));
            return of_tree(t, [&](const auto& x) { return lo::slice(x, c); });
        },
        "a"_a, "coordinate"_a, "The modes where the coordinate has None, side by side; one alone is itself.");
    m.def(
        "dice",
        [](TreeLike t, TupleLike coordinate) -> Tree {
            const lo::IntTuple c = to_int_tuple(coordinate);
            return of_tree(t, [&](const auto& x) { return lo::dice(x, c); });
        },
        "a"_a, "coordinate"_a, "The modes where the coordinate has a number.");
    m.def(
        "flatten", [](TreeLike t) -> Tree { return of_tree(t, [](const auto& x) { return lo::flatten(x); }); }, "a"_a,
        "The leaves side by side.");
    m.def(
        "slice_and_offset", [](LayoutLike L, TupleLike coordinate) -> As<"tuple[Any, Any]"> {
            return part(L, [c = to_int_tuple(coordinate)](const lo::Layout& x) { return lo::slice_and_offset(x, c); });
        },
        "layout"_a, "coordinate"_a, "(slice(layout, coordinate), the index where it begins)");
}

void bind_makers(LayoutFunctions& m) {
    m.def(
        "make_layout", [](const py::args& given) -> As<"Layout"> {
            if (given.size() == 0) lo::refuse("it takes a shape and strides, or the layouts of modes");
            if (!as_layout(given[0])) {
                if (given.size() > 2) lo::refuse("it takes a shape and strides, or the layouts of modes");
                const lo::IntTuple shape = to_int_tuple(given[0]);
                const bool compact = given.size() == 1 || given[1].is_none();
                return py::cast(compact ? lo::Layout(shape) : lo::Layout(shape, to_int_tuple(given[1])));
            }
            std::vector<lo::Layout> modes;
            for (const py::handle mode : given) modes.push_back(to_layout(mode));
            return py::cast(lo::make_layout(modes));
        },
        "A layout of a shape and strides, compact without these; or of the layouts of its modes.");
    m.def(
        "make_ordered_layout",
        [](TupleLike shape, TupleLike order) {
            return lo::make_ordered_layout(to_int_tuple(shape), to_int_tuple(order));
        },
        "shape"_a, "order"_a, "Compact; modes of smaller order are faster. (1, 0) is row-major.");
    m.def(
        "make_layout_like", [](LayoutLike L) { return lo::make_layout_like(to_layout(L)); }, "layout"_a,
        "Compact, of the same shape and with its modes in the same order. A stride of 0 stays.");
    m.def(
        "make_fragment_layout", [](LayoutLike L) { return lo::make_fragment_layout(to_layout(L)); }, "layout"_a,
        "Compact, of the same shape: the first mode fastest, the others in the same order. A stride of 0 stays.");
    m.def(
        "make_identity_layout", [](TupleLike shape) { return lo::make_identity_layout(to_int_tuple(shape)); },
        "shape"_a, "The index of a coordinate is the coordinate.");
    m.def(
        "make_tile",
        [](const py::args& modes) {
            std::vector<lo::Tile> out;
            for (const py::handle mode : modes) out.push_back(to_tile(mode));
            return lo::Tile(std::move(out));
        },
        "A tile: for each mode an integer n (contiguous elements), a layout, None for a mode that stays, or a tile.");
    m.def(
        "make_composed_layout",
        [](AnyLike inner, TupleLike offset, AnyLike outer) {
            if (outer.is_none()) return lo::make_composed_layout(to_any(inner), 0, to_any(offset));
            return lo::make_composed_layout(to_any(inner), to_int_tuple(offset), to_any(outer));
        },
        "inner"_a, "offset"_a, "outer"_a = py::none(),
        "c -> inner(offset + outer(c)). make_composed_layout(inner, outer): no offset.");
    m.def(
        "parse", [](const std::string& text) -> Tree { return from_any(lo::parse_layout(text)); }, "text"_a,
        "The layout, swizzle or composed layout that str() wrote. LayoutError names the column of a mistake.");
}

}  // namespace

void bind_layout_modes(LayoutFunctions& m) {
    bind_parts(m);
    bind_other_parts(m);
    bind_makers(m);
}

}  // namespace strata::python
