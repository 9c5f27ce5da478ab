#include <fmt/ranges.h>

#include "layout/layout_p.h"

namespace strata::python {
namespace {

using namespace py::literals;

/// Converts an argument of a class; a LayoutError about it names the class.
template <class F>
auto given_to(const char* name, F f) {
    try {
        return f();
    } catch (const lo::LayoutError& error) {
        if (!error.operation().empty()) throw;
        throw error.within(name, "", {});
    }
}

lo::Layout make(const py::object& shape, const py::object& stride) {
    return given_to("Layout", [&] {
        if (py::isinstance<py::str>(shape) && stride.is_none()) return lo::layout_of(shape.cast<std::string>());
        if (const lo::Layout* layout = as_layout(shape); layout && stride.is_none()) return *layout;
        if (stride.is_none()) return lo::Layout(to_int_tuple(shape));
        return lo::Layout(to_int_tuple(shape), to_int_tuple(stride));
    });
}

py::object size_of(const lo::Layout& L) {
    return lo::operation("size", [&] { return from_int(L.size()); }, L);
}

bool has_none(const lo::IntTuple& t) {
    bool found = false;
    lo::for_each_leaf(t, [&](const lo::IntTuple& leaf) { found |= leaf.is_none(); });
    return found;
}

lo::IntTuple coordinate_of(const py::args& given) {
    if (given.size() == 1) return to_int_tuple(given[0]);
    return to_int_tuple(given);
}

template <class L>
py::object call(const L& layout, const py::object& self, const py::args& given) {
    const lo::IntTuple coordinate = coordinate_of(given);
    if (!has_none(coordinate)) return from_int_tuple(layout(coordinate));
    return of_layout(self, [&](const lo::Layout& base) { return lo::slice(base, coordinate); });
}

/// L[i], L[-1], L[1:3].
Tree item(const py::object& self, As<"Any"> which) {
    return of_layout(self, [&](const lo::Layout& L) -> lo::Layout {
        const auto rank = static_cast<py::ssize_t>(L.rank());
        if (py::isinstance<py::slice>(which)) {
            py::ssize_t begin = 0, end = 0, step = 0, n = 0;
            if (!which.cast<py::slice>().compute(rank, &begin, &end, &step, &n)) throw py::error_already_set();
            std::vector<int> modes;
            for (py::ssize_t i = 0; i < n; ++i) modes.push_back(static_cast<int>(begin + i * step));
            return lo::select(L, modes);
        }
        const int64_t i = to_int(which).value();
        if (i < -rank || i >= rank)
            throw lo::LayoutError("mode", "", {to_string(L)}, fmt::format("it has no mode {}", i));
        return L.mode(static_cast<size_t>(i < 0 ? i + rank : i));
    });
}

py::tuple modes_of(const py::object& self) {
    const lo::ComposedLayout* composed = as_composed(self);
    const lo::Layout& L = composed ? composed->base() : to_layout(self);
    py::tuple out(L.rank());
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = composed ? py::cast(composed->with_base(L.mode(i))) : py::cast(L.mode(i));
    return out;
}

template <class T, class Class>
void compares(Class& c, uint64_t (*hash)(const T&)) {
    c.def(
        "__eq__",
        [](const T& a, const py::object& b) {
            const T* other = py::isinstance<T>(b) ? b.cast<const T*>() : nullptr;
            return other && a == *other;
        },
        py::is_operator(), "other"_a);
    c.def("__hash__", [hash](const T& a) { return static_cast<py::ssize_t>(hash(a) >> 1); });
    c.def("__str__", [](const T& a) { return to_string(a); });
}

template <class Class>
void has_modes(Class& c) {
    c.def("__getitem__", &item, "mode"_a, "The layout of one mode, or of those of a slice.");
    c.def("__len__", [](const py::object& self) { return modes_of(self).size(); });
    c.def(
        "__iter__", [](const py::object& self) -> As<"Iterator[Any]"> { return py::object(py::iter(modes_of(self))); });
}

void bind_plain(py::class_<lo::Layout>& c) {
    c.def(py::init([](TupleLike shape, TupleLike stride) { return make(shape, stride); }), "shape"_a,
          "stride"_a = py::none(),
          "From a shape and congruent strides, in elements; without strides compact, the first mode fastest. Or from "
          "text: '(4,(2,4)):(8,(1,2))'.\nLayoutError where sizes are below 1 or the two are not congruent.");
    c.def_property_readonly("shape", [](const lo::Layout& L) -> TupleIndex { return from_int_tuple(L.shape()); });
    c.def_property_readonly("stride", [](const lo::Layout& L) -> TupleIndex { return from_int_tuple(L.stride()); });
    c.def_property_readonly(
        "size", [](const lo::Layout& L) -> As<"int"> { return size_of(L); }, "How many coordinates there are.");
    c.def_property_readonly(
        "cosize", [](const lo::Layout& L) -> As<"int"> { return from_int(lo::cosize(L)); },
        "1 + the distance of the smallest and the largest index.");
    c.def_property_readonly("rank", [](const lo::Layout& L) { return static_cast<int64_t>(L.rank()); });
    c.def_property_readonly("depth", &lo::Layout::depth);
    c.def(
        "__call__", [](const py::object& self, const py::args& coordinate) -> As<"Any"> {
            return call(to_layout(self), self, coordinate);
        },
        "The index of a coordinate: an integer, one a mode, or the shape's tree. With None in it the layout of these "
        "modes.");
    c.def(
        "unpack", [](const lo::Layout& L) -> As<"tuple[Any, Any]"> {
            return py::object(py::make_tuple(from_int_tuple(L.shape()), from_int_tuple(L.stride())));
        },
        "(shape, stride)");
    c.def(
        "__reduce__", [](const py::object& self) -> As<"tuple[Any, ...]"> {
            return py::object(py::make_tuple(py::type::of(self), self.attr("unpack")()));
        });
    c.def("__repr__", [](const lo::Layout& L) { return repr(L); });
}

void bind_composed(py::class_<lo::ComposedLayout>& c) {
    c.def_property_readonly("inner", [](const lo::ComposedLayout& L) -> Tree {
        return std::visit([](const auto& x) { return py::cast(x); }, L.stages()[0].inner);
    });
    c.def_property_readonly(
        "offset", [](const lo::ComposedLayout& L) -> TupleIndex { return from_int_tuple(L.stages()[0].offset); });
    c.def_property_readonly("outer", [](const lo::ComposedLayout& L) -> Tree {
        return std::visit([](const auto& x) { return py::cast(x); }, L.outer());
    });
    c.def_property_readonly("shape",
                            [](const lo::ComposedLayout& L) -> TupleIndex { return from_int_tuple(L.base().shape()); });
    c.def_property_readonly("size", [](const lo::ComposedLayout& L) -> As<"int"> { return size_of(L.base()); });
    c.def_property_readonly(
        "cosize", [](const lo::ComposedLayout& L) { return lo::cosize(L); },
        "1 + the distance of the smallest and the largest index.");
    c.def_property_readonly("rank", [](const lo::ComposedLayout& L) { return static_cast<int64_t>(L.base().rank()); });
    c.def_property_readonly("depth", [](const lo::ComposedLayout& L) { return L.base().depth(); });
    c.def(
        "__call__", [](const py::object& self, const py::args& coordinate) -> As<"Any"> {
            return call(*as_composed(self), self, coordinate);
        },
        "inner(offset + outer(coordinate)); with None in it the layout of these modes.");
    c.def(
        "unpack", [](const py::object& self) -> As<"tuple[Any, Any, Any]"> {
            return py::object(py::make_tuple(self.attr("inner"), self.attr("offset"), self.attr("outer")));
        },
        "(inner, offset, outer)");
    c.def("__repr__", [](const lo::ComposedLayout& L) { return repr(lo::AnyLayout(L)); });
}

void bind_swizzles(py::class_<lo::Swizzle>& s, py::class_<lo::CoordSwizzle>& c) {
    s.def(
        py::init([](int bits, int base, int shift) { return lo::Swizzle(bits, base, shift); }), "bits"_a, "base"_a,
        "shift"_a,
        "XORs bits base + shift, ... of an index into bits base, ...; `bits` of them. A negative shift swaps the two.");
    s.def_property_readonly("bits", &lo::Swizzle::bits);
    s.def_property_readonly("base", &lo::Swizzle::base);
    s.def_property_readonly("shift", &lo::Swizzle::shift);
    s.def(
        "__call__",
        [](const lo::Swizzle& swizzle, TupleIndex index) -> TupleIndex { return from_int(swizzle(to_int(index))); },
        "index"_a);
    s.def("unpack", [](const lo::Swizzle& x) { return std::tuple(x.bits(), x.base(), x.shift()); });
    s.def("__repr__", [](const lo::Swizzle& x) { return repr(lo::AnyLayout(x)); });
    s.def(
        "__reduce__", [](const py::object& self) -> As<"tuple[Any, ...]"> {
            return py::object(py::make_tuple(py::type::of(self), self.attr("unpack")()));
        });
    c.def(py::init([](int bits, int base_row, TupleLike row, int base_column, TupleLike column) {
              return given_to("CoordSwizzle", [&] {
                  return lo::CoordSwizzle(bits, base_row, to_path(row), base_column, to_path(column));
              });
          }),
          "bits"_a, "base_row"_a, "row"_a, "base_column"_a, "column"_a,
          "XORs `bits` bits from base_row on of a coordinate's mode `row` into those from base_column on of mode "
          "`column`.");
    c.def(
        "__call__",
        [](const lo::CoordSwizzle& x, TupleIndex at) -> TupleIndex { return from_int_tuple(x(to_int_tuple(at))); },
        "coordinate"_a);
    c.def_property_readonly("bits", &lo::CoordSwizzle::bits);
    c.def_property_readonly("base_row", &lo::CoordSwizzle::base_row);
    c.def_property_readonly(
        "row", [](const lo::CoordSwizzle& x) -> As<"tuple[int, ...]"> { return py::object(from_path(x.row())); });
    c.def_property_readonly("base_column", &lo::CoordSwizzle::base_column);
    c.def_property_readonly(
        "column", [](const lo::CoordSwizzle& x) -> As<"tuple[int, ...]"> { return py::object(from_path(x.column())); });
    c.def(
        "unpack", [](const lo::CoordSwizzle& x) -> As<"tuple[int, int, tuple[int, ...], int, tuple[int, ...]]"> {
            return py::object(
                py::make_tuple(x.bits(), x.base_row(), from_path(x.row()), x.base_column(), from_path(x.column())));
        });
    c.def("__repr__", [](const lo::CoordSwizzle& x) { return repr(lo::AnyLayout(x)); });
    c.def(
        "__reduce__", [](const py::object& self) -> As<"tuple[Any, ...]"> {
            return py::object(py::make_tuple(py::type::of(self), self.attr("unpack")()));
        });
}

void bind_basis(py::class_<Basis>& c) {
    c.def(py::init([](TupleLike value, TupleLike modes) {
              return given_to("Basis", [&] { return Basis{lo::IntTuple::basis(to_int(value), to_path(modes))}; });
          }),
          "value"_a, "modes"_a,
          "value times the unit of a mode, given as an integer or, from the outside in, a tuple.");
    c.def_property_readonly("value", [](const Basis& b) -> TupleIndex { return from_int(b.element.value()); });
    c.def_property_readonly(
        "modes", [](const Basis& b) -> As<"tuple[int, ...]"> { return py::object(from_path(b.element.path())); });
    c.def(
        "unpack", [](const Basis& b) -> As<"tuple[Any, tuple[int, ...]]"> {
            return py::object(py::make_tuple(from_int(b.element.value()), from_path(b.element.path())));
        },
        "(value, modes)");
    const auto times = [](const Basis& b, TupleIndex factor) { return Basis{b.element * to_int_tuple(factor)}; };
    c.def("__mul__", times, "factor"_a);
    c.def("__rmul__", times, "factor"_a);
    const auto sum = [](const Basis& b, TupleIndex other) -> TupleIndex {
        return from_int_tuple(coordinate_sum(b.element, to_int_tuple(other)));
    };
    c.def("__add__", sum, "other"_a, "A coordinate: 2 * E(0) + 3 * E(1) is (2, 3).");
    c.def("__radd__", sum, "other"_a);
    c.def("__repr__", [](const Basis& b) { return repr(b.element); });
    c.def(
        "__reduce__", [](const py::object& self) -> As<"tuple[Any, ...]"> {
            return py::object(py::make_tuple(py::type::of(self), self.attr("unpack")()));
        });
}

}  // namespace

bool operator==(const Basis& a, const Basis& b) { return a.element == b.element; }
std::string to_string(const Basis& b) { return lo::to_string(b.element); }

void bind_layout_types(py::module_& m) {
    py::class_<lo::Layout> layout(m, "Layout",
                                  "A function from coordinates to indices: nested sizes and strides. Immutable.");
    py::class_<lo::ComposedLayout> composed(m, "ComposedLayout",
                                            "inner(offset + outer(coordinate)), made by make_composed_layout.");
    py::class_<lo::Swizzle> swizzle(m, "Swizzle", "XORs bits of an index into others.");
    py::class_<lo::CoordSwizzle> coord(m, "CoordSwizzle", "XORs bits of one mode of a coordinate into another's.");
    py::class_<Basis> basis(m, "Basis", "An integer times the unit of one mode of a coordinate.");
    py::class_<lo::Tile> tile(m, "Tile", "The divisor of a layout mode by mode, made by make_tile.");
    bind_plain(layout);
    bind_composed(composed);
    bind_swizzles(swizzle, coord);
    bind_basis(basis);
    has_modes(layout);
    has_modes(composed);
    compares<lo::Layout>(layout, [](const lo::Layout& x) { return x.hash(); });
    compares<lo::ComposedLayout>(composed, [](const lo::ComposedLayout& x) { return x.hash(); });
    compares<lo::Swizzle>(swizzle,
                          [](const lo::Swizzle& x) { return uint64_t{std::hash<std::string>{}(to_string(x))}; });
    compares<lo::CoordSwizzle>(
        coord, [](const lo::CoordSwizzle& x) { return uint64_t{std::hash<std::string>{}(to_string(x))}; });
    compares<Basis>(basis, [](const Basis& x) { return x.element.hash(); });
    tile.def("unpack", [](const lo::Tile& t) -> As<"Any"> { return from_tile(t); }, "Its modes as a tuple.");
    compares<lo::Tile>(tile, [](const lo::Tile& x) { return uint64_t{std::hash<std::string>{}(to_string(x))}; });
}

std::string repr(const lo::IntTuple& t) {
    if (t.is_basis()) {
        const std::string unit = fmt::format("E({})", fmt::join(t.path(), ", "));
        return t.value().is(1) ? unit : fmt::format("{} * {}", to_string(t.value()), unit);
    }
    if (!t.is_tuple()) return t.is_none() ? "None" : to_string(t);
    std::string out = "(";
    for (size_t i = 0; i < t.rank(); ++i) out += (i ? ", " : "") + repr(t.modes()[i]);
    return out + (t.rank() == 1 ? ",)" : ")");
}

std::string repr(const lo::Layout& L) { return fmt::format("Layout({}, {})", repr(L.shape()), repr(L.stride())); }

std::string repr(const lo::AnyLayout& L) {
    if (const auto* layout = std::get_if<lo::Layout>(&L)) return repr(*layout);
    if (const auto* s = std::get_if<lo::Swizzle>(&L))
        return fmt::format("Swizzle({}, {}, {})", s->bits(), s->base(), s->shift());
    if (const auto* s = std::get_if<lo::CoordSwizzle>(&L)) {
        const auto path = [](const lo::Path& p) { return fmt::format("({},)", fmt::join(p, ", ")); };
        return fmt::format("CoordSwizzle({}, {}, {}, {}, {})", s->bits(), s->base_row(), path(s->row()),
                           s->base_column(), path(s->column()));
    }
    const auto& composed = std::get<lo::ComposedLayout>(L);
    const auto& [inner, offset] = composed.stages()[0];
    const auto any = [](const auto& x) { return repr(lo::AnyLayout(x)); };
    return fmt::format("make_composed_layout({}, {}, {})", std::visit(any, inner), repr(offset),
                       std::visit(any, composed.outer()));
}

}  // namespace strata::python
