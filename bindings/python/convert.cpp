#include "convert_p.h"

#include <cstring>

#include "front_end_p.h"

namespace strata::python {
namespace {

py::module_ numpy() { return py::module_::import("numpy"); }

bool is_numpy_scalar(py::handle value) {
    return py::hasattr(value, "dtype") && py::hasattr(value, "shape") && py::hasattr(value, "item") &&
           py::len(value.attr("shape")) == 0;
}

int64_t as_index(py::handle value) {
    PyObject* index = PyNumber_Index(value.ptr());
    if (!index) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(index).cast<int64_t>();
}

Index to_index(py::handle value) {
    if (value.is_none()) return Index::new_axis();
    if (value.ptr() == Py_Ellipsis) return Index::ellipsis();
    if (py::isinstance<py::slice>(value)) {
        auto part = [&](const char* name) -> std::optional<int64_t> {
            py::object p = value.attr(name);
            if (p.is_none()) return {};
            return as_index(p);
        };
        return Index::slice(part("start"), part("stop"), part("step").value_or(1));
    }
    if (py::isinstance<Tensor>(value)) return Index::tensor(value.cast<Tensor>());
    if (PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()) && !py::hasattr(value, "__array__"))
        return Index::at(as_index(value));
    if (is_numpy_scalar(value)) return Index::at(value.attr("item")().cast<int64_t>());
    if (py::isinstance<py::list>(value) || py::hasattr(value, "__array__")) return Index::tensor(to_tensor(value));
    user_error(ErrorKind::Usage,
               "[index] cannot index with {}; use an integer, slice, None, Ellipsis or an integer tensor",
               py::repr(value).cast<std::string>());
}

py::object nested(py::object flat, const Shape& shape, size_t axis, py::ssize_t& at) {
    if (axis == shape.size()) return flat[py::int_(at++)];
    py::list out;
    for (int64_t i = 0; i < shape[axis]; ++i) out.append(nested(flat, shape, axis + 1, at));
    return out;
}

}  // namespace

Shape to_shape(py::handle value) {
    if (PyIndex_Check(value.ptr())) return {value.cast<int64_t>()};
    py::detail::list_caster<Shape, int64_t> sizes;
    if (!sizes.load(value, true))
        user_error(ErrorKind::Shape, "a shape is an int or a sequence of ints, got {}",
                   py::repr(value).cast<std::string>());
    return static_cast<Shape&>(sizes);
}

Shape to_shape(const py::args& sizes) {
    if (sizes.size() == 1 && !PyIndex_Check(sizes[0].ptr())) return to_shape(py::handle(sizes[0]));
    return to_shape(py::handle(sizes));
}

Axes to_axes(py::handle value) {
    if (!value || value.is_none()) return {};
    if (PyIndex_Check(value.ptr())) return Axes(value.cast<int>());
    return Axes(value.cast<std::vector<int>>());
}

bool is_number(py::handle value) {
    return PyBool_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr());
}

Number to_number(py::handle value) {
    if (PyBool_Check(value.ptr())) return Number(value.cast<bool>());
    if (PyFloat_Check(value.ptr())) return Number(value.cast<double>());
    if (PyLong_Check(value.ptr())) {
        int overflow = 0;
        long long i = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        if (!overflow) return Number(static_cast<int64_t>(i));
        unsigned long long u = PyLong_AsUnsignedLongLong(value.ptr());
        if (!PyErr_Occurred()) return Number(static_cast<uint64_t>(u));
        PyErr_Clear();
        user_error(ErrorKind::DType, "{} fits no integer type", py::repr(value).cast<std::string>());
    }
    if (is_numpy_scalar(value)) {
        py::object plain = value.attr("item")();
        if (is_number(plain)) return to_number(plain);
        if (py::isinstance(value, numpy().attr("floating")))
            return Number(py::float_(py::reinterpret_borrow<py::object>(value)).cast<double>());
    }
    user_error(ErrorKind::Usage, "a number was expected, got {}", py::repr(value).cast<std::string>());
}

std::vector<Index> to_indices(py::handle value) {
    std::vector<Index> out;
    if (py::isinstance<py::tuple>(value)) {
        for (py::handle part : value) out.push_back(to_index(part));
    } else {
        out.push_back(to_index(value));
    }
    return out;
}

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
        user_error(ErrorKind::Shape, "cannot make a tensor of {}: {}", py::str(py::type::of(data)).cast<std::string>(),
                   e.what());
    }
    if (!array.attr("dtype").attr("isnative").cast<bool>())
        array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("="));
    std::string name = py::str(array.attr("dtype").attr("name")).cast<std::string>();
    bool from_python = !py::hasattr(data, "dtype") && !PyObject_CheckBuffer(data.ptr());
    if (from_python && name == "float64" && (!dtype || *dtype != dtypes::float64)) {  // Python floats are float32
        array = array.attr("astype")("float32"), name = "float32";
    }
    if (array.attr("size").cast<int64_t>() == 0 && from_python && name == "float64") name = "float32";
    array = np.attr("ascontiguousarray")(array).attr("reshape")(array.attr("shape"));
    DType held = parse_dtype(name);
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
    std::string_view name = t.dtype().numpy();
    if (name.empty())
        user_error(ErrorKind::DType, "NumPy has no {}; cast first, e.g. x.cast(dtypes.float32).numpy()",
                   t.dtype().name());
    py::module_ np = numpy();
    py::object shape = py::tuple(py::cast(t.shape()));
    if (!copy && t.numel() > 0) {
        Tensor::HostView view = computing([&] { return t.host_view(); });
        if (view.data) {
            auto* keep = new std::shared_ptr<runtime::Buffer>(view.memory);
            py::capsule owner(keep, [](void* p) { delete static_cast<std::shared_ptr<runtime::Buffer>*>(p); });
            py::object type = np.attr("dtype")(std::string(name)).attr("str");
            py::object holder = py::module_::import("types").attr("SimpleNamespace")(py::arg("owner") = owner);
            holder.attr("__array_interface__") =
                py::dict(py::arg("data") = py::make_tuple(reinterpret_cast<uintptr_t>(view.data), false),
                         py::arg("shape") = shape, py::arg("typestr") = type, py::arg("version") = 3);
            return np.attr("asarray")(holder);  // the array keeps the holder, the holder the memory
        }
    }
    py::object array = np.attr("empty")(shape, py::arg("dtype") = std::string(name));
    void* to = py::buffer(array).request(true).ptr;
    computing([&] { t.to_host(to); });
    return array;
}

py::object to_python(const Number& n) {
    switch (n.kind) {
        case Kind::Bool: return py::bool_(n.i != 0);
        case Kind::Int: return py::int_(n.i);
        case Kind::UInt: return py::int_(static_cast<uint64_t>(n.i));
        case Kind::Float: return py::float_(n.f);
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
