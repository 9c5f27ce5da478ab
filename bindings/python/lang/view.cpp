// Views: elements of memory under layouts, with NumPy's operators on those of registers.
#include "lang/lang_p.h"
#include "lang/tile_p.h"
#include "layout/layout_p.h"
#include "strata/codegen/tile/arithmetic.h"

namespace strata::python {
namespace {

using namespace py::literals;
using lang::View;
using ViewClass = py::class_<View>;
using Coordinate = As<"Any">;
using Item = As<"View | Value | Scalar">;

/// A coordinate: integers, values, None or : for a mode that stays.
lo::IntTuple to_coordinate(py::handle value) {
    if (PySlice_Check(value.ptr())) {
        const auto whole = py::slice(std::nullopt, std::nullopt, std::nullopt);
        if (!value.equal(whole))
            user_error(ErrorKind::Usage, "v[{}]: a mode is taken whole, by : or None; local_tile takes a part of it",
                       shown(value));
        return lo::IntTuple::none();
    }
    if (!PyTuple_Check(value.ptr())) return to_int_tuple(value);
    std::vector<lo::IntTuple> modes;
    for (const py::handle mode : value) modes.push_back(to_coordinate(mode));
    return modes;
}

View::AnyLayout to_memory_layout(py::handle value) {
    if (const lo::ComposedLayout* composed = as_composed(value)) return *composed;
    if (has_layout(value)) return to_layout(value);
    return lo::Layout(to_int_tuple(value));
}

bool is_part(const lo::IntTuple& t) {
    bool found = false;
    lo::for_each_leaf(t, [&](const lo::IntTuple& leaf) { found |= leaf.is_none(); });
    return found;
}

py::object element_or_part(const View& view, py::handle at) {
    if (at.ptr() == Py_Ellipsis) return py::cast(view);
    const lo::IntTuple c = to_coordinate(at);
    if (is_part(c)) return py::cast(view.slice(c));
    if (!view.has_memory()) return from_int_tuple(view.index(c));
    GraphScope scope;
    return from_value(view.load(c));
}

void assign(const View& view, py::handle value) {
    GraphScope scope;
    if (const View* from = as_view(value)) return lang::store(view, *from);
    lang::fill(view, to_value(value, view.dtype(), "v.store"));
}

void set_item(const View& view, py::handle at, py::handle value) {
    if (at.ptr() == Py_Ellipsis) return assign(view, value);
    const lo::IntTuple c = to_coordinate(at);
    if (is_part(c)) return assign(view.slice(c), value);
    GraphScope scope;
    view.store(c, to_value(value, view.dtype(), "v[c] = x"));
}

/// f of elements, given as values; a number meets every element.
View elementwise(const char* name, const std::vector<py::object>& operands,
                 const std::function<py::object(const py::args&)>& f) {
    GraphScope scope;
    std::vector<View> views;
    for (const py::object& operand : operands) {
        const View* view = as_view(operand);
        if (view && !view->is_in(Space::reg))
            user_error(ErrorKind::Usage, "[{}] computes with registers, and this is {}: load it, v.load()", name,
                       to_string(*view));
        if (view) views.push_back(*view);
    }
    return lang::map(views, [&](std::span<const UOp> elements) {
        py::tuple given(operands.size());
        size_t next = 0;
        for (size_t i = 0; i < operands.size(); ++i)
            given[i] = as_view(operands[i]) ? from_value(elements[next++]) : operands[i];
        return lang::machine_value(to_value(f(py::args(given)), name));
    });
}

/// The operators that values have; those of comparisons too.
constexpr const char* kBinary[] = {"add", "sub", "mul", "truediv", "floordiv", "mod",
                                   "pow", "and", "or",  "xor",     "lshift",   "rshift"};
constexpr const char* kComparing[] = {"lt", "le", "gt", "ge", "eq", "ne"};

bool is_operand(py::handle value) { return as_view(value) || as_value(value) || is_number(value); }

void bind_operators(ViewClass& c) {
    const auto apply = [](const std::string& name, const py::object& a, const py::object& b) -> py::object {
        if (!is_operand(a) || !is_operand(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        const py::object f = py::module_::import("operator").attr(("__" + name + "__").c_str());
        return py::cast(elementwise(name.c_str(), {a, b}, [&](const py::args& x) -> py::object { return f(*x); }));
    };
    for (const std::string name : kBinary) {
        c.def(("__" + name + "__").c_str(),
              [=](const py::object& a, const py::object& b) -> As<"View"> { return apply(name, a, b); }, "other"_a,
              py::pos_only());
        c.def(("__r" + name + "__").c_str(),
              [=](const py::object& a, const py::object& b) -> As<"View"> { return apply(name, b, a); }, "other"_a,
              py::pos_only());
        c.def(("__i" + name + "__").c_str(),
              [=](const py::object& a, const py::object& b) -> As<"View"> {
                  const py::object result = apply(name, a, b);
                  if (const View* computed = as_view(result)) {
                      GraphScope scope;
                      const View& to = *as_view(a);
                      lang::store(to, computed->dtype() == to.dtype() ? *computed : lang::cast(*computed, to.dtype()));
                      return a;
                  }
                  return result;
              },
              "other"_a, py::pos_only());
    }
    for (const std::string name : kComparing)
        c.def(("__" + name + "__").c_str(),
              [=](const py::object& a, const py::object& b) -> As<"View"> { return apply(name, a, b); }, "other"_a,
              py::pos_only());
    for (const std::string name : {"neg", "pos", "abs", "invert"})
        c.def(("__" + name + "__").c_str(), [=](const py::object& a) -> As<"View"> {
            const py::object f = py::module_::import("operator").attr(("__" + name + "__").c_str());
            return py::cast(elementwise(name.c_str(), {a}, [&](const py::args& x) -> py::object { return f(*x); }));
        });
    c.def("__hash__",
          [](const py::object& self) { return static_cast<py::ssize_t>(reinterpret_cast<intptr_t>(self.ptr())); });
    c.def(
        "__bool__", [](const View& view) -> As<"Never"> {
            throw py::type_error(fmt::format(
                "{} has no single truth value: reduce it, v.reduce('and'), or take an element", to_string(view)));
        });
    c.def(
        "__iter__", [](const View& view) -> As<"Never"> {
            throw py::type_error(
                fmt::format("{} is no Python sequence: for i in range(v.size) takes v[i]", to_string(view)));
        });
}

void bind_shape(ViewClass& c) {
    c.def_property_readonly("dtype", &View::dtype, "Element type; of coordinates none.");
    c.def_property_readonly("shape", [](const View& v) -> TupleIndex { return from_int_tuple(v.shape()); });
    c.def_property_readonly("stride", [](const View& v) -> TupleIndex { return from_int_tuple(v.base().stride()); });
    c.def_property_readonly(
        "layout", [](const View& v) -> As<"Layout | ComposedLayout"> {
            return std::visit([](const auto& L) { return py::cast(L); }, v.layout());
        });
    c.def_property_readonly(
        "offset", [](const View& v) -> TupleIndex { return from_int_tuple(v.offset()); },
        "Where the view begins in its memory, in elements.");
    c.def_property_readonly(
        "size", [](const View& v) -> As<"int"> { return from_int(v.size()); }, "How many elements there are.");
    c.def_property_readonly("rank", [](const View& v) { return static_cast<int64_t>(v.shape().rank()); });
    c.def_property_readonly(
        "space",
        [](const View& v) -> std::string {
            if (!v.has_memory()) return "coordinates";
            return std::string(space_names()[static_cast<size_t>(v.memory().as<ParamArg>().space)]);
        },
        "'global', 'local', 'reg' or 'coordinates'.");
    c.def("__repr__", [](const View& v) { return "<View " + to_string(v) + ">"; });
}

void bind_parts(ViewClass& c) {
    c.def(
        "at",
        [](const View& v, const py::args& at) {
            return Place{v.at(to_coordinate(at.size() == 1 ? py::object(at[0]) : py::object(at)))};
        },
        "The place of the element at a coordinate.");
    c.def(
        "view",
        [](const View& v, As<"Layout | ComposedLayout | IntTuple"> layout) {
            return v.with_layout(to_memory_layout(layout));
        },
        "layout"_a, "The same memory, from the first element on, under another layout: make_view(v, layout).");
}

void bind_elements(ViewClass& c) {
    c.def(
        "__getitem__", [](const View& v, Coordinate at) -> As<"Any"> { return element_or_part(v, at); }, "at"_a,
        py::pos_only(),
        "The element at a coordinate; with None or : in it the view of these modes. UsageError outside of the shape.");
    c.def(
        "__setitem__", [](const View& v, Coordinate at, Item x) { set_item(v, at, x); }, "at"_a, "value"_a,
        py::pos_only(), "Stores an element, or all of the modes that None or : takes.");
    c.def(
        "load",
        [](const View& v) {
            GraphScope scope;
            return lang::loaded(v);
        },
        "New registers with the elements, by accesses as wide as the layout proves.");
    c.def(
        "store", [](const View& v, Item x) { assign(v, x); }, "value"_a,
        "Stores a view, whose modes of size 1 repeat, or one number in every element. ShapeError, DTypeError.");
    c.def(
        "fill", [](const View& v, As<"Value | Scalar"> x) { assign(v, x); }, "value"_a,
        "Stores one number in every element.");
    c.def(
        "cast",
        [](const View& v, DType type) {
            GraphScope scope;
            return lang::cast(v.is_in(Space::reg) ? v : lang::loaded(v), type);
        },
        "dtype"_a, "New registers with the elements as another type.");
    c.def("recast", &View::recast, "dtype"_a,
          "The same bits as elements of another type. LayoutError where an element's bits are not neighbours.");
    c.def(
        "reduce", [](const View& v, const std::string& op) -> As<"Value"> {
            GraphScope scope;
            const Op by = parse_reduction(op);
            if (v.dtype().is_float() && by != Op::add && by != Op::mul && by != Op::max && by != Op::min)
                user_error(ErrorKind::DType, "reduce by '{}' takes integers and bool, not {}", op, v.dtype().name());
            return from_value(lang::reduce(v, by));
        },
        "op"_a, "All elements by 'add', 'mul', 'max', 'min', 'and', 'or' or 'xor', in halves.");
    OwnSignature own;
    c.def(
        "map",
        [](const py::object& self, const py::function& f, const py::args& more) {
            std::vector<py::object> operands{self};
            for (const py::handle other : more) operands.push_back(py::reinterpret_borrow<py::object>(other));
            return elementwise("map", operands, [&](const py::args& x) -> py::object { return f(*x); });
        },
        "map(self, f: Callable[..., Any], *others: View | Value | Scalar) -> View\n\nNew registers with f of the "
        "elements; modes "
        "of size 1 repeat.");
}

void bind_places(py::module_& m) {
    py::class_<Place> c(m, "Place", "One element of memory, made by View.at.");
    c.def_property_readonly("dtype", [](const Place& p) { return p.element.dtype(); });
    c.def(
        "load", [](const Place& p) -> As<"Value"> {
            GraphScope scope;
            return from_value(p.element.load(0));
        });
    c.def(
        "store",
        [](const Place& p, As<"Value | Scalar"> x) {
            GraphScope scope;
            p.element.store(0, to_value(x, p.element.dtype(), "store"));
        },
        "value"_a);
    c.def("__repr__", [](const Place& p) { return "<Place of " + to_string(p.element) + ">"; });
}

View made(py::handle memory, const View::AnyLayout& layout) {
    if (const View* view = as_view(memory)) return view->with_layout(layout);
    return View(to_uop(memory), layout);
}

}  // namespace

Op parse_reduction(const std::string& name) {
    struct {
        const char* name;
        Op op;
    } constexpr rows[] = {{"add", Op::add},     {"mul", Op::mul},   {"max", Op::max},    {"min", Op::min},
                          {"and", Op::bit_and}, {"or", Op::bit_or}, {"xor", Op::bit_xor}};
    for (const auto& row : rows)
        if (name == row.name) return row.op;
    user_error(ErrorKind::Usage, "reduce by '{}': use add, mul, max, min, and, or, xor", name);
}

void bind_lang_views(py::module_& m) {
    bind_places(m);
    ViewClass c(m, "View", "Elements of memory under a layout. Copies name the same elements.");
    bind_shape(c);
    bind_parts(c);
    bind_elements(c);
    bind_operators(c);
    LayoutFunctions functions(m);
    functions.def(
        "make_view",
        [](As<"View | UOp"> memory, As<"Layout | ComposedLayout | IntTuple"> layout) {
            return made(memory, to_memory_layout(layout));
        },
        "memory"_a, "layout"_a,
        "The memory of a view, from its first element on, under another layout. LayoutError where it reaches beyond.");
    functions.def(
        "identity", [](TupleLike shape) { return View::coordinates(to_int_tuple(shape)); }, "shape"_a,
        "A view whose element at a coordinate is that coordinate.");
    functions.def(
        "bounded",
        [](const View& view, As<"str | None"> cache) {
            if (cache.is_none()) return view.bounded();
            return view.bounded().with_cache(*to_policy(cache, target_named(py::none(), "bounded")));
        },
        "view"_a, "cache"_a = py::none(),
        "The view, whose loads beyond the tensor's elements give 0, and whose stores there do nothing. cache: as that "
        "of "
        "CopyAtom.");
    functions.def(
        "register_view",
        [](As<"Layout | IntTuple"> layout, DType type) {
            return View::registers(std::get<lo::Layout>(to_memory_layout(layout)), type);
        },
        "layout"_a, "dtype"_a, "Registers of each thread, by a shape or layout.");
    functions.def(
        "shared_view",
        [](As<"Layout | ComposedLayout | IntTuple"> layout, DType type) {
            return View::shared(to_memory_layout(layout), type);
        },
        "layout"_a, "dtype"_a, "Memory that a block shares, by a shape or layout.");
}

}  // namespace strata::python
