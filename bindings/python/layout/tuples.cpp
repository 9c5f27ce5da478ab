#include "layout/layout_p.h"

namespace strata::python {
namespace {

using namespace py::literals;
using Binary = lo::IntTuple (*)(const lo::IntTuple&, const lo::IntTuple&);

/// f of two tuples; a LayoutError names both.
template <Binary f>
TupleIndex both(const char* name, py::handle a, py::handle b) {
    const lo::IntTuple x = to_int_tuple(a), y = to_int_tuple(b);
    return from_int_tuple(lo::operation(name, [&] { return f(x, y); }, x, y));
}

void bind_arithmetic(LayoutFunctions& m) {
    m.def(
        "tuple_add", [](TupleLike a, TupleLike b) { return both<lo::operator+ >("tuple_add", a, b); }, "a"_a, "b"_a,
        "Leaf by leaf; an integer meets every leaf.");
    m.def(
        "tuple_sub", [](TupleLike a, TupleLike b) { return both<(lo::operator-)>("tuple_sub", a, b); }, "a"_a, "b"_a,
        "Leaf by leaf; an integer meets every leaf.");
    m.def(
        "tuple_mul", [](TupleLike a, TupleLike b) { return both<lo::operator*>("tuple_mul", a, b); }, "a"_a, "b"_a,
        "Leaf by leaf; an integer meets every leaf.");
    m.def(
        "tuple_div", [](TupleLike a, TupleLike b) { return both<lo::tuple_div>("tuple_div", a, b); }, "a"_a, "b"_a,
        "Leaf by leaf and downwards; an integer meets every leaf.");
    m.def(
        "tuple_mod", [](TupleLike a, TupleLike b) { return both<lo::tuple_mod>("tuple_mod", a, b); }, "a"_a, "b"_a,
        "The remainder of tuple_div, with the divisor's sign.");
    m.def(
        "shape_div", [](TupleLike a, TupleLike b) { return both<lo::shape_div>("shape_div", a, b); }, "a"_a, "b"_a,
        "The sizes that are left of a after b elements in colexicographic order. LayoutError where neither divides the "
        "other.");
    m.def(
        "ceil_div", [](TupleLike a, TupleLike b) { return both<lo::ceil_div>("ceil_div", a, b); }, "a"_a, "b"_a,
        "By mode and upwards; modes of a beyond b's stay.");
    m.def(
        "inner_product", [](TupleLike a, TupleLike b) { return both<lo::inner_product>("inner_product", a, b); }, "a"_a,
        "b"_a, "The sum of the products of leaves.");
    m.def(
        "product_like", [](TupleLike a, TupleLike b) { return both<lo::product_like>("product_like", a, b); }, "a"_a,
        "guide"_a, "An integer a leaf of the guide: the product of what a has there.");
    m.def(
        "elem_less",
        [](TupleLike a, TupleLike b) {
            const lo::IntTuple x = to_int_tuple(a), y = to_int_tuple(b);
            return lo::operation("elem_less", [&] { return lo::elem_less(x, y); }, x, y);
        },
        "a"_a, "b"_a, "Is every leaf of a smaller than b's?");
    m.def(
        "congruent", [](TreeLike a, TreeLike b) { return lo::congruent(shape_of(a), shape_of(b)); }, "a"_a, "b"_a,
        "Have both one tree of modes?");
    m.def(
        "weakly_congruent", [](TreeLike a, TreeLike b) { return lo::weakly_congruent(shape_of(a), shape_of(b)); },
        "a"_a, "b"_a, "Is b's tree a's, with leaves of a grown into trees?");
    m.def(
        "product", [](TupleLike a) -> As<"int"> { return from_int(lo::product(to_int_tuple(a))); }, "a"_a,
        "The product of all leaves.");
    m.def(
        "product_each", [](TupleLike a) -> TupleIndex { return from_int_tuple(lo::product_each(to_int_tuple(a))); },
        "a"_a, "An integer a mode.");
    m.def(
        "prefix_product",
        [](TupleLike a, TupleLike first) -> TupleIndex {
            return from_int_tuple(lo::prefix_product(to_int_tuple(a), to_int(first)));
        },
        "a"_a, "first"_a = 1, "For each leaf the product of the leaves before it, from `first` on.");
}

void bind_coordinates(LayoutFunctions& m) {
    m.def(
        "crd2idx",
        [](TupleLike coordinate, TreeLike shape, TupleLike stride) -> TupleIndex {
            const lo::IntTuple c = to_int_tuple(coordinate);
            if (const lo::ComposedLayout* composed = as_composed(shape)) return from_int_tuple((*composed)(c));
            if (const lo::Layout* layout = as_layout(shape)) return from_int_tuple((*layout)(c));
            const lo::IntTuple s = to_int_tuple(shape);
            return from_int_tuple(
                (stride.is_none() ? lo::Layout(s, lo::prefix_product(s)) : lo::Layout(s, to_int_tuple(stride)))(c));
        },
        "coordinate"_a, "shape"_a, "stride"_a = py::none(),
        "The index of a coordinate in a layout, or in a shape with strides: compact ones where none are given.");
    m.def(
        "idx2crd",
        [](TupleLike index, TreeLike shape, TupleLike stride) -> TupleIndex {
            if (const lo::Layout* layout = as_layout(shape)) return from_int_tuple(lo::idx2crd(to_int(index), *layout));
            const lo::IntTuple s = to_int_tuple(shape), i = to_int_tuple(index);
            if (!stride.is_none()) return from_int_tuple(lo::idx2crd(i.integer(), lo::Layout(s, to_int_tuple(stride))));
            return from_int_tuple(lo::operation("idx2crd", [&] { return lo::idx2crd(i, s); }, i, s));
        },
        "index"_a, "shape"_a, "stride"_a = py::none(),
        "The coordinate, of the shape's tree, with that index. Of a shape alone the last mode has no end. LayoutError "
        "where a layout has no such index.");
    m.def(
        "crd2crd",
        [](TupleLike coordinate, TupleLike from, TupleLike to) -> TupleIndex {
            return from_int_tuple(lo::crd2crd(to_int_tuple(coordinate), to_int_tuple(from), to_int_tuple(to)));
        },
        "coordinate"_a, "from_shape"_a, "to_shape"_a, "The coordinate of the other shape with the same integer.");
    m.def(
        "flat_coord",
        [](TupleLike index, LayoutLike L) -> TupleIndex {
            return from_int_tuple(lo::flat_coord(to_int(index), to_layout(L)));
        },
        "index"_a, "layout"_a, "The coordinate with that index, an integer a mode.");
    m.def(
        "linear_coord", [](TupleLike index, LayoutLike L) -> As<"int"> {
            return from_int(lo::linear_coord(to_int(index), to_layout(L)));
        },
        "index"_a, "layout"_a, "The coordinate with that index as one integer.");
}

}  // namespace

lo::IntTuple shape_of(py::handle value) {
    if (const lo::Layout* layout = as_layout(value)) return layout->shape();
    if (const lo::ComposedLayout* composed = as_composed(value)) return composed->base().shape();
    if (const lang::View* view = as_view(value)) return view->shape();
    return to_int_tuple(value);
}

void bind_layout_tuples(LayoutFunctions& m) {
    bind_arithmetic(m);
    bind_coordinates(m);
    m.def(
        "E", [](const py::args& modes) -> TupleIndex { return from_int_tuple(lo::IntTuple::basis(1, to_path(modes))); },
        "The unit of a mode of coordinates, given from the outside in: E(1) * 3 is (0, 3). E() is 1.");
    m.def(
        "size", [](TreeLike a) -> As<"int"> { return from_int(lo::product(shape_of(a))); }, "a"_a,
        "How many coordinates there are.");
    m.def(
        "rank", [](TreeLike a) { return static_cast<int64_t>(shape_of(a).rank()); }, "a"_a, "Modes, 1 of an integer.");
    m.def("depth", [](TreeLike a) { return shape_of(a).depth(); }, "a"_a, "0 of an integer, 1 of a flat tuple.");
    m.def(
        "cosize", [](LayoutLike L) -> As<"int"> {
            if (const lo::ComposedLayout* composed = as_composed(L)) return py::int_(lo::cosize(*composed));
            return from_int(lo::cosize(to_layout(L)));
        },
        "layout"_a, "1 + the distance of the smallest and the largest index.");
    m.def(
        "coshape", [](LayoutLike L) -> TupleIndex { return from_int_tuple(lo::coshape(to_layout(L))); }, "layout"_a,
        "The cosize of each mode of indices that are coordinates, the cosize of others.");
}

}  // namespace strata::python
