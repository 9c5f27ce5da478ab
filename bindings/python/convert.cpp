#include "convert_p.h"

#include <cstring>

#include "foreign_p.h"
#include "front_end_p.h"

namespace strata::python {
namespace {

py::module_ numpy() { return py::module_::import("numpy"); }

bool is_numpy_scalar(py::handle value) {
    return py::hasattr(value, "dtype") && py::hasattr(value, "shape") && py::hasattr(value, "item") &&
           py::len(value.attr("shape")) == 0;
}

/// A bound of a slice: Python's own are cut to what 64 bits hold, as they end at the axis anyway.
int64_t slice_bound(py::handle value) {
    py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!index) throw py::error_already_set();
    py::ssize_t at = PyNumber_AsSsize_t(index.ptr(), nullptr);
    if (at == -1 && PyErr_Occurred()) throw py::error_already_set();
    return at;
}

/// An array of the host as indices: its ends are known here, so that they can be checked at the call.
Index host_indices(py::handle value) {
    py::object array = numpy().attr("asarray")(value);
    bool empty = array.attr("size").cast<int64_t>() == 0;
    Tensor indices = to_tensor(value, empty ? OptionalDType(dtypes::int64) : OptionalDType());
    strata::Index index = strata::Index::tensor(indices);
    if (!empty && indices.dtype().is_integer()) {
        Number low = to_number(array.attr("min")()), high = to_number(array.attr("max")());
        index.ends = {low.i, high.kind == Kind::UInt ? std::numeric_limits<int64_t>::max() : high.i};
        if (low.kind == Kind::UInt) index.ends->first = std::numeric_limits<int64_t>::max();
    }
    return index;
}

bool is_bool(py::handle value) {
    return PyBool_Check(value.ptr()) ||
           (is_numpy_scalar(value) && py::str(value.attr("dtype").attr("name")).cast<std::string>() == "bool");
}

Index to_index(py::handle value) {
    if (value.is_none()) return Index::new_axis();
    if (value.ptr() == Py_Ellipsis) return Index::ellipsis();
    if (py::isinstance<py::slice>(value)) {
        auto part = [&](const char* name) -> std::optional<int64_t> {
            py::object p = value.attr(name);
            if (p.is_none()) return {};
            return slice_bound(p);
        };
        return Index::slice(part("start"), part("stop"), part("step").value_or(1));
    }
    if (py::isinstance<Tensor>(value)) return Index::tensor(value.cast<Tensor>());
    bool array = py::isinstance<py::list>(value) || (py::hasattr(value, "__array__") && !is_numpy_scalar(value));
    if (array) return host_indices(value);
    if (is_bool(value)) return Index::tensor(Tensor::full({}, value.cast<bool>()));
    if (PyIndex_Check(value.ptr())) return Index::at(to_integer(value, "[index] an index"));
    user_error(ErrorKind::Usage,
               "[index] cannot index with {}; use an integer, slice, None, Ellipsis or an integer tensor",
               shown(value));
}

py::object nested(py::object flat, const Shape& shape, size_t axis, py::ssize_t& at) {
    if (axis == shape.size()) return flat[py::int_(at++)];
    py::list out;
    for (int64_t i = 0; i < shape[axis]; ++i) out.append(nested(flat, shape, axis + 1, at));
    return out;
}

}  // namespace

Shape to_shape(py::handle value) {
    if (PyIndex_Check(value.ptr()) && !py::isinstance<py::sequence>(value)) return {to_integer(value, "a size")};
    py::detail::list_caster<Shape, int64_t> sizes;
    if (!sizes.load(value, true))
        user_error(ErrorKind::Shape, "a shape is an int or a sequence of ints of at most 64 bits, got {}",
                   shown(value));
    return static_cast<Shape&>(sizes);
}

Shape to_shape(const py::args& sizes) {
    if (sizes.size() == 1 && !PyIndex_Check(sizes[0].ptr())) return to_shape(py::handle(sizes[0]));
    return to_shape(py::handle(sizes));
}

int64_t to_integer(py::handle value, std::string_view what, int64_t low, int64_t high) {
    py::object index =
        py::reinterpret_steal<py::object>(PyIndex_Check(value.ptr()) ? PyNumber_Index(value.ptr()) : nullptr);
    if (!index) {
        PyErr_Clear();
        user_error(ErrorKind::Usage, "{} is an int, got {}", what, shown(value));
    }
    int overflow = 0;
    int64_t n = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow || n < low || n > high)
        user_error(ErrorKind::Usage, "{} of {}: it is out of range", what, shown(index));
    return n;
}

int to_axis(py::handle value) {
    constexpr int64_t most = std::numeric_limits<int>::max();
    return static_cast<int>(to_integer(value, "an axis", -most, most));
}

std::string shown(py::handle value) {
    if (py::isinstance<Tensor>(value)) {
        const Tensor& t = value.cast<const Tensor&>();
        return fmt::format("<Tensor {} {}>", to_string(t.shape()), t.dtype().name());
    }
    std::string text;
    try {
        text = py::repr(value).cast<std::string>();
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_Exception)) throw;  // Ctrl-C
        text = py::str(py::type::of(value)).cast<std::string>();
    }
    constexpr size_t kMost = 200;
    return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

Axes to_axes(py::handle value) {
    if (!value || value.is_none()) return {};
    if (PyIndex_Check(value.ptr())) return Axes(to_axis(value));
    if (!py::isinstance<py::sequence>(value) || py::isinstance<py::str>(value))
        user_error(ErrorKind::Usage, "an axis is an int or a sequence of ints, got {}", shown(value));
    std::vector<int> axes;
    for (py::handle axis : value) axes.push_back(to_axis(axis));
    return Axes(std::move(axes));
}

std::vector<int> to_axes_list(const py::args& given) {
    Axes axes = to_axes(given.size() == 1 ? py::handle(given[0]) : py::handle(given));
    if (!axes.list) user_error(ErrorKind::Usage, "the axes are ints, got None");
    return *axes.list;
}

bool is_number(py::handle value) {
    return PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr()) ||
           PyComplex_Check(value.ptr());
}

Number to_number(py::handle value) {
    if (PyBool_Check(value.ptr())) return Number(value.cast<bool>());
    if (PyFloat_Check(value.ptr())) return Number(value.cast<double>());
    if (PyComplex_Check(value.ptr()))
        return Number(std::complex(PyComplex_RealAsDouble(value.ptr()), PyComplex_ImagAsDouble(value.ptr())));
    if (PyLong_Check(value.ptr())) {
        int overflow = 0;
        long long i = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        if (!overflow) return Number(static_cast<int64_t>(i));
        unsigned long long u = PyLong_AsUnsignedLongLong(value.ptr());
        if (!PyErr_Occurred()) return Number(static_cast<uint64_t>(u));
        PyErr_Clear();
        user_error(ErrorKind::DType, "{} fits no integer type", shown(value));
    }
    if (is_numpy_scalar(value)) {
        py::object plain = value.attr("item")();
        if (is_number(plain)) return to_number(plain);
        if (py::isinstance(value, numpy().attr("floating")))
            return Number(py::float_(py::reinterpret_borrow<py::object>(value)).cast<double>());
    }
    user_error(ErrorKind::Usage, "a number was expected, got {}", shown(value));
}

std::vector<strata::Index> to_indices(py::handle value) {
    std::vector<strata::Index> out;
    if (py::isinstance<py::tuple>(value)) {
        for (py::handle part : value) out.push_back(to_index(part));
    } else {
        out.push_back(to_index(value));
    }
    return out;
}

namespace {

/// Arrays of what a tensor cannot hold: NumPy makes them of anything.
void check_elements(py::handle data, const py::object& array) {
    std::string kind = array.attr("dtype").attr("kind").cast<std::string>();
    std::string name = py::str(array.attr("dtype").attr("name")).cast<std::string>();
    bool complex = kind == "c";
    if ((complex || kind == "f") && array.attr("itemsize").cast<int>() > (complex ? 16 : 8))
        user_error(ErrorKind::DType, "{} is wider than any type here: array.astype('{}')", name,
                   complex ? "complex128" : "float64");
    bool numbers = complex || kind == "b" || kind == "i" || kind == "u" || kind == "f" || kind == "V";
    if (!numbers && py::hasattr(data, "__next__"))
        user_error(ErrorKind::Usage, "cannot make a tensor of {}: make it a list first, list(...)", shown(data));
    if (!numbers)
        user_error(ErrorKind::DType,
                   "cannot make a tensor of {}: its elements are not bools, integers of at most 64 bits, floats or "
                   "complex numbers",
                   shown(data));
}

/// NumPy makes floats of Python's integers where some need uint64 and some int64: they stay integers, or are an error.
py::object whole_numbers(py::handle data, py::object array) {
    bool large = array.attr("dtype").attr("kind").cast<std::string>() == "f" &&
                 array.attr("size").cast<int64_t>() > 0 &&
                 array.attr("__abs__")().attr("max")().cast<double>() >= 0x1p63;
    if (!large) return array;
    py::object each = numpy().attr("asarray")(data, py::arg("dtype") = "object");
    for (py::handle value : each.attr("ravel")())
        if (!PyLong_Check(value.ptr())) return array;
    if (py::int_(0).attr("__gt__")(each.attr("min")()).cast<bool>())
        user_error(ErrorKind::DType, "no integer type holds all of {}: make them floats", shown(data));
    return each.attr("astype")("uint64");
}

/// Numbers must fit the type that they shall have, a list's and an array's.
void check_range(const py::object& array, DType to) {
    if (!to.is_integer() || array.attr("size").cast<int64_t>() == 0) return;
    if (foreign(named_dtype(py::str(array.attr("dtype").attr("name")))))
        return check_range(array.attr("astype")("float32"), to);
    if (to.numpy() == py::str(array.attr("dtype").attr("name")).cast<std::string>()) return;
    for (const char* end : {"min", "max"}) (void)to_number(array.attr(end)()).constant(to);
}

}  // namespace

Tensor to_tensor(py::handle data, OptionalDType dtype, std::string_view device) {
    if (py::isinstance<Tensor>(data)) {
        Tensor t = data.cast<Tensor>();
        if (dtype) t = t.cast(*dtype);
        return device.empty() ? t : t.to(device);
    }
    py::module_ np = numpy();
    py::object array;
    try {
        array = np.attr("asarray")(data, py::arg("order") = "C");
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_Exception)) throw;
        std::string why = py::str(e.value()).cast<std::string>();
        if (why.find("inhomogeneous") != why.npos) why = "its lists differ in length";
        user_error(ErrorKind::Shape, "cannot make a tensor of {}: {}", shown(data), why);
    }
    if (!array.attr("dtype").attr("isnative").cast<bool>())
        array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
    std::string name = py::str(array.attr("dtype").attr("name")).cast<std::string>();
    bool from_python = !py::hasattr(data, "dtype") && !PyObject_CheckBuffer(data.ptr());
    check_elements(data, array);
    if (from_python)
        array = whole_numbers(data, array), name = py::str(array.attr("dtype").attr("name")).cast<std::string>();
    if (dtype) check_range(array, *dtype);
    if (from_python && name == "float64" && (!dtype || *dtype != dtypes::float64)) {  // Python floats are float32
        array = array.attr("astype")("float32"), name = "float32";
    }
    if (from_python && name == "complex128" && (!dtype || *dtype != dtypes::complex128))
        array = array.attr("astype")("complex64"), name = "complex64";
    if (array.attr("size").cast<int64_t>() == 0 && from_python && name == "float64") name = "float32";
    array = np.attr("ascontiguousarray")(array).attr("reshape")(array.attr("shape"));
    DType held = named_dtype(name);
    if (foreign(held)) array = array.attr("view")(bits_dtype(held));
    py::buffer_info info = py::buffer(array).request();
    Shape shape(info.shape.begin(), info.shape.end());
    Tensor out = computing([&] { return Tensor::from_host(info.ptr, shape, held, device); });
    return dtype ? out.cast(*dtype) : out;
}

bool OperandHolder::accepts(py::handle value) {
    return py::isinstance<Tensor>(value) || is_number(value) || py::hasattr(value, "__array__") ||
           py::isinstance<py::list>(value);
}

OperandHolder::OperandHolder(py::handle value) {
    if (py::isinstance<Tensor>(value)) {
        operand_.emplace(value.cast<const Tensor&>());
    } else if (is_number(value)) {
        operand_.emplace(to_number(value));
    } else if (accepts(value)) {
        tensor_ = to_tensor(value);
        operand_.emplace(tensor_);
    } else {
        user_error(ErrorKind::Usage, "a tensor or a number was expected, got {}",
                   py::str(py::type::of(value)).cast<std::string>());
    }
}

py::object to_numpy(Tensor& t, bool copy) {
    py::object type = numpy_dtype(t.dtype()), bits = numpy().attr("dtype")(bits_dtype(t.dtype()));
    const auto typed = [&](const py::object& array) { return foreign(t.dtype()) ? array.attr("view")(type) : array; };
    py::module_ np = numpy();
    py::object shape = py::tuple(py::cast(t.shape()));
    if (!copy && t.numel() > 0) {
        Tensor::HostView view = computing([&] { return t.host_view(); });
        if (view.data) {
            auto* keep = new std::shared_ptr<runtime::Buffer>(view.memory);
            py::capsule owner(keep, [](void* p) { delete static_cast<std::shared_ptr<runtime::Buffer>*>(p); });
            py::object holder = py::module_::import("types").attr("SimpleNamespace")(py::arg("owner") = owner);
            holder.attr("__array_interface__") =
                py::dict(py::arg("data") = py::make_tuple(reinterpret_cast<uintptr_t>(view.data), true),
                         py::arg("shape") = shape, py::arg("typestr") = bits.attr("str"), py::arg("version") = 3);
            return typed(np.attr("asarray")(holder));  // the array keeps the holder, the holder the memory
        }
    }
    py::object array = np.attr("empty")(shape, py::arg("dtype") = bits);
    void* to = py::buffer(array).request(true).ptr;
    computing([&] { t.to_host(to); });
    return typed(array);
}

py::object to_python(const Number& n) {
    switch (n.kind) {
        case Kind::Bool: return py::bool_(n.i != 0);
        case Kind::Int: return py::int_(n.i);
        case Kind::UInt: return py::int_(static_cast<uint64_t>(n.i));
        case Kind::Float: return py::float_(n.f);
        case Kind::Complex: return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(n.f, n.imaginary));
    }
    return py::none();
}

py::object to_list(Tensor& t) {
    if (t.ndim() == 0) return to_python(computing([&] { return t.item(); }));
    bool has_numpy = !t.dtype().numpy().empty();
    Tensor readable = has_numpy ? t : t.cast(dtypes::float32);
    py::object flat = to_numpy(readable, true).attr("ravel")().attr("tolist")();
    py::ssize_t at = 0;
    return nested(flat, t.shape(), 0, at);
}

}  // namespace strata::python
