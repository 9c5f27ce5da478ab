#include "layout/layout_p.h"

#include "kernels/uop_p.h"
#include "lang/lang_p.h"

namespace strata::python {
namespace {

/// The C++ value in an object of a class or of one derived from it; null for others.
template <class T>
const T* held(py::handle value) {
    static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<T>().ptr());
    if (Py_TYPE(value.ptr()) != type && !PyType_IsSubtype(Py_TYPE(value.ptr()), type)) return nullptr;
    return py::cast<const T*>(value);
}

lo::IntTuple to_leaf(py::handle value) {
    PyObject* p = value.ptr();
    if (value.is_none()) return lo::IntTuple::none();
    if (const Basis* basis = held<Basis>(value)) return basis->element;
    if (const LangValue* number = as_value(value)) return lo::IntTuple(number->get());
    if (!PyBool_Check(p) && PyIndex_Check(p)) {
        const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(p));
        if (!number) throw py::error_already_set();
        int overflow = 0;
        const int64_t out = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
        if (overflow) lo::refuse("a leaf has 64 bits, and {} has more", shown(value));
        return out;
    }
    if (const Handle* uop = held<Handle>(value)) return lo::IntTuple(uop->get());
    lo::refuse("a leaf is an integer, a UOp, E(mode) or None, and this is {}", shown(value));
}

lo::IntTuple to_tuple(py::handle value, int depth) {
    PyObject* p = value.ptr();
    if (!PyTuple_Check(p) && !PyList_Check(p)) return to_leaf(value);
    if (depth >= lo::kMostDepth) lo::refuse("tuples stand in each other more than {} deep", lo::kMostDepth);
    const py::ssize_t n = PySequence_Fast_GET_SIZE(p);
    std::vector<lo::IntTuple> modes;
    modes.reserve(static_cast<size_t>(n));
    for (py::ssize_t i = 0; i < n && i < PySequence_Fast_GET_SIZE(p); ++i)
        modes.push_back(to_tuple(PySequence_Fast_GET_ITEM(p, i), depth + 1));
    return modes;
}

lo::Tile tile_of(py::handle value, int depth) {
    if (const lo::Layout* layout = as_layout(value)) return *layout;
    if (const lo::Tile* tile = held<lo::Tile>(value)) return *tile;
    if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr())) return lo::Tile(to_leaf(value));
    if (depth >= lo::kMostDepth) lo::refuse("tuples stand in each other more than {} deep", lo::kMostDepth);
    std::vector<lo::Tile> modes;
    for (const py::handle mode : value) modes.push_back(tile_of(mode, depth + 1));
    return modes;
}

}  // namespace

lo::IntTuple to_int_tuple(py::handle value) { return to_tuple(value, 0); }

py::object from_int(const lo::Int& value) {
    if (value.known()) return py::int_(value.value());
    return lang::Trace::is_active() ? from_value(value.uop()) : from_uop(value.uop());
}

py::object from_int_tuple(const lo::IntTuple& t) {
    switch (t.kind()) {
        case lo::IntTuple::Kind::integer: return from_int(t.value());
        case lo::IntTuple::Kind::none: return py::none();
        case lo::IntTuple::Kind::basis: return py::cast(Basis{t});
        case lo::IntTuple::Kind::tuple: break;
    }
    py::tuple out(t.rank());
    for (size_t i = 0; i < t.rank(); ++i) out[i] = from_int_tuple(t.modes()[i]);
    return out;
}

lo::Int to_int(py::handle value) { return to_leaf(value).integer(); }

int to_small(py::handle value, const char* what) {
    const lo::Int out = to_int(value);
    if (out.value() < INT32_MIN || out.value() >= INT32_MAX)
        lo::refuse("{} is {}, which is out of range", what, out.value());
    return static_cast<int>(out.value());
}

lo::Path to_path(py::handle modes) {
    if (const Basis* basis = held<Basis>(modes)) return basis->element.path();
    if (!PyTuple_Check(modes.ptr()) && !PyList_Check(modes.ptr())) return {to_small(modes, "a mode")};
    lo::Path out;
    for (const py::handle mode : modes) out.push_back(to_small(mode, "a mode"));
    return out;
}

py::tuple from_path(const lo::Path& path) {
    py::tuple out(path.size());
    for (size_t i = 0; i < path.size(); ++i) out[i] = path[i];
    return out;
}

lo::Tile to_tile(py::handle value) { return tile_of(value, 0); }

py::object from_tile(const lo::Tile& tile) {
    if (tile.is_none()) return py::none();
    if (!tile.is_tuple()) {
        const lo::Layout& layout = tile.layout();
        const bool is_size = !layout.shape().is_tuple() && layout == lo::Layout(layout.shape());
        return is_size ? from_int_tuple(layout.shape()) : py::cast(layout);
    }
    py::tuple out(tile.modes().size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = from_tile(tile.modes()[i]);
    return out;
}

const lo::Layout* as_layout(py::handle value) { return held<lo::Layout>(value); }
const lo::ComposedLayout* as_composed(py::handle value) { return held<lo::ComposedLayout>(value); }

const lang::View* as_view(py::handle value) { return held<lang::View>(value); }

const lo::Layout& to_layout(py::handle value) {
    if (const lo::Layout* layout = as_layout(value)) return *layout;
    const lang::View* view = as_view(value);
    if (const auto* layout = view ? std::get_if<lo::Layout>(&view->layout()) : nullptr) return *layout;
    if (view || as_composed(value)) lo::refuse("{} is composed, and a plain layout is wanted", shown(value));
    lo::refuse("a Layout is wanted, and this is {}", shown(value));
}

lo::AnyLayout to_any(py::handle value) {
    if (const lo::ComposedLayout* composed = as_composed(value)) return *composed;
    if (const lang::View* view = as_view(value))
        return std::visit([](const auto& L) { return lo::AnyLayout(L); }, view->layout());
    if (const auto* swizzle = held<lo::Swizzle>(value)) return *swizzle;
    if (const auto* swizzle = held<lo::CoordSwizzle>(value)) return *swizzle;
    return to_layout(value);
}

py::object from_any(lo::AnyLayout value) {
    return std::visit([](auto& x) { return py::cast(std::move(x)); }, value);
}

}  // namespace strata::python
