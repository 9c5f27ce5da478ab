#include <algorithm>
#include <memory>

#include "front_end_p.h"
#include "methods_p.h"
#include "package_p.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/device.h"

// The data of a tensor in Python: properties, values, and the protocols of Python and NumPy.
namespace strata::python {
namespace {

Number one_value(Tensor& t) {
    return computing([&] { return t.item(); });
}

bool to_bool(Tensor& t) {
    if (t.numel() != 1)
        user_error(ErrorKind::Usage, "a tensor of shape {} is neither true nor false; use .any() or .all()",
                   to_string(t.shape()));
    return !one_value(t).is_zero();
}

/// Version 3 of the interface: what is launched is on the legacy stream, 1.
As<"dict[str, Any]"> cuda_array_interface(Tensor& t) {
    const std::string_view name = t.dtype().numpy();
    if (dlpack_device(t).first != 2 || name.empty())
        throw py::attribute_error(
            fmt::format("a tensor of {} on {} has no __cuda_array_interface__", t.dtype().name(), t.device().name()));
    const Tensor::HostView view = computing([&] { return t.host_view(); });
    if (view.memory) view.memory->order_on(nullptr, false);
    const uint64_t address = view.memory ? view.memory->address() : 0;
    const py::object type = py::module_::import("numpy").attr("dtype")(std::string(name)).attr("str");
    return py::dict(py::arg("shape") = py::tuple(py::cast(t.shape())), py::arg("typestr") = type,
                    py::arg("data") = py::make_tuple(address, true), py::arg("version") = 3, py::arg("stream") = 1);
}

// Values for people: computed, large ones in part, as NumPy prints them.

std::string described(const Tensor& t, std::string_view state) {
    return fmt::format("<Tensor {} {} on {}{}>", to_string(t.shape()), t.dtype().name(), t.device().name(), state);
}

constexpr int64_t kAllShown = 1000, kShownEnds = 3;  ///< NumPy's

/// The ends of each long axis, which are shown, with one element between them for the others.
Tensor shown_part(Tensor t) {
    for (int axis = 0; axis < t.ndim(); ++axis) {
        const int64_t n = t.size(axis), start = kShownEnds + 1;
        if (n <= 2 * kShownEnds) continue;
        std::vector<Tensor> parts = t.split(Shape{start, n - start - kShownEnds, kShownEnds}, axis);
        t = ops::cat({parts[0], parts[2]}, axis);
    }
    return t;
}

std::string printed(Tensor& t) {
    try {
        const bool large = t.numel() > kAllShown;
        Tensor part = large ? shown_part(t) : t;
        Tensor readable = t.dtype().numpy().empty() ? part.cast(dtypes::float32) : part;
        py::object array = to_numpy(readable, false);
        if (!large && readable.dtype() == t.dtype()) t = readable;
        py::object text = py::module_::import("numpy").attr("array2string")(
            array, py::arg("separator") = ", ", py::arg("prefix") = "Tensor(",
            py::arg("threshold") = large ? 0 : kAllShown, py::arg("edgeitems") = kShownEnds);
        return fmt::format("Tensor({}, {}{} on {})", text.cast<std::string>(),
                           large ? "shape " + to_string(t.shape()) + ", " : "", t.dtype().name(), t.device().name());
    } catch (const Exception& e) {
        return described(t, fmt::format(", cannot be computed: {}", e.what()));
    }
}

// pickle and deepcopy: the bytes, their type, where they were, and whether they require a gradient.

Tensor restored(const py::bytes& bytes, const Shape& shape, DType type, const std::string& device, bool requires_grad) {
    std::string_view content = bytes;
    if (static_cast<int64_t>(content.size()) != Tensor::zeros(shape, type).nbytes())
        user_error(ErrorKind::Usage, "{} bytes do not hold a tensor of shape {} of {}", content.size(),
                   to_string(shape), type.name());
    Tensor out = Tensor::from_host(content.data(), shape, type, device);
    if (requires_grad) out.requires_grad_();
    return out;
}

py::tuple state_of(Tensor& t) {
    std::string content(static_cast<size_t>(t.nbytes()), 0);
    computing([&] { t.to_host(content.data()); });
    return py::make_tuple(py::bytes(content), t.shape(), t.dtype(), t.device().name(), t.requires_grad());
}

Tensor deep_copy(Tensor& t) {
    const py::tuple state = state_of(t);
    Tensor out = restored(state[0], t.shape(), t.dtype(), t.device().name(), t.requires_grad());
    if (t.has_grad()) {
        Tensor grad = t.grad();
        out.set_grad(deep_copy(grad));
    }
    return out;
}

/// An int that says, when it is called, that it is a property: elsewhere size is a method.
py::object size_class() {
    py::module_ python = py::module_::import("builtins");
    py::dict members;
    members["__slots__"] = py::tuple();
    members["__call__"] = py::cpp_function(
        [](py::handle, const py::args&, const py::kwargs&) -> As<"Never"> {
            throw py::type_error(
                "size is a property: x.size counts the elements, x.shape[axis] is the size of an axis");
        },
        py::name("__call__"), py::is_method(python.attr("int")));
    members["__reduce__"] = py::cpp_function(
        [](py::handle self) {
            return py::make_tuple(py::module_::import("builtins").attr("int"), py::make_tuple(self.cast<int64_t>()));
        },
        py::name("__reduce__"), py::is_method(python.attr("int")));
    return python.attr("type")("int", py::make_tuple(python.attr("int")), members);
}

void bind_properties(TensorClass& c) {
    c.def_property_readonly("shape", &Tensor::shape, "Sizes of the axes.");
    c.def_property_readonly("dtype", &Tensor::dtype, "Element type.");
    c.def_property_readonly("ndim", &Tensor::ndim, "Number of axes.");
    c.def_property_readonly(
        "device", [](const Tensor& t) { return t.device().name(); }, "The device that computes it: 'emu:gfx1100', ...");
    c.def_property_readonly(
        "size", [of = size_class()](const Tensor& t) -> As<"int"> { return of(t.numel()); }, "Number of elements.");
    c.def_property_readonly("nbytes", &Tensor::nbytes, "Bytes of all elements.");
    c.def_property_readonly("is_realized", &Tensor::is_realized, "Whether the value is in memory.");
    c.def_property_readonly(
        "uop", [](const Tensor& t) -> As<"uop.UOp"> {
            GraphScope scope;
            return from_uop(t.uop());
        },
        "The node of the lazy graph.");
    c.def("numel", &Tensor::numel, "Number of elements.");
    c.def(
        "to",
        [](const Tensor& t, As<"str | DTypeLike"> where) {
            if (!py::isinstance<py::str>(where)) return t.cast(to_dtype(where));
            const std::string name = where.cast<std::string>();
            for (std::span<const DType> types : {all_dtypes(), complex_dtypes()})
                for (DType type : types)
                    if (name == type.name() || (!type.numpy().empty() && name == type.numpy())) return t.cast(type);
            return computing([&] { return t.to(name); });
        },
        py::arg("device"),
        "The same values on a device, copied through the host when they live elsewhere; or, given a type, in that "
        "type.");
    c.def(
        "to_device",
        [](const Tensor& t, const std::string& device, As<"None">) { return computing([&] { return t.to(device); }); },
        py::arg("device"), py::pos_only(), py::kw_only(), py::arg("stream") = py::none(),
        "to(device), as the array API spells it.");
}

void bind_values(TensorClass& c) {
    c.def(
        "realize",
        [](Tensor& t) -> Tensor& {
            computing([&] { t.realize(); });
            return t;
        },
        py::return_value_policy::reference_internal,
        "Computes the value now; returns the tensor itself. Raises CompileError, LaunchError, MemoryFault, "
        "DeviceError.");
    c.def(
        "item", [](Tensor & t) -> As<"Any"> { return to_python(one_value(t)); },
        "The value of a tensor of one element as a Python number; computes it.");
    c.def(
        "numpy", [](Tensor & t) -> As<"NDArray[Any]"> { return to_numpy(t, true); },
        "A NumPy array with a copy of the values; computes them. DTypeError for types NumPy has not: cast first.");
    c.def(
        "tolist", [](Tensor & t) -> As<"Any"> { return to_list(t); }, "Nested lists of Python numbers; computes them.");
}

void bind_exchange(TensorClass& c) {
    c.def(
        "__array__", [](Tensor & t, As<"Any"> dtype, As<"Any"> copy) -> As<"NDArray[Any]"> {
            bool own = !copy.is_none() && copy.cast<bool>();
            if (!copy.is_none() && !own && t.numel() && dlpack_device(t) != kHostOfDLPack)
                throw py::value_error("the host does not see the memory of " + t.device().name() +
                                      ": its values are copied, which copy=False forbids");
            py::object array = to_numpy(t, own);
            py::object type = array.attr("dtype");
            if (!dtype.is_none() && !type.equal(py::object(py::module_::import("numpy").attr("dtype")(dtype)))) {
                if (!copy.is_none() && !own) throw py::value_error("another dtype is a copy, which copy=False forbids");
                return array.attr("astype")(dtype);
            }
            return array;
        },
        py::arg("dtype") = py::none(), py::arg("copy") = py::none());
    c.def(
        "__array_namespace__", [](const Tensor&, As<"str | None"> api_version) -> As<"ModuleType"> {
            py::object version = package().attr("__array_api_version__");
            constexpr const char* known[] = {"2021.12", "2022.12", "2023.12", "2024.12"};
            bool fits = api_version.is_none() || std::any_of(std::begin(known), std::end(known), [&](const char* text) {
                            return api_version.equal(py::str(text));
                        });
            if (!fits)
                user_error(ErrorKind::Usage, "[__array_namespace__] version {}: strata has {}", shown(api_version),
                           version.cast<std::string>());
            return py::reinterpret_borrow<py::object>(package());
        },
        py::kw_only(), py::arg("api_version") = py::none());
    c.def_property_readonly(
        "__cuda_array_interface__", &cuda_array_interface,
        "The interface that Numba and CuPy read: the memory of a tensor on a card of NVIDIA's, not to be "
        "written. AttributeError elsewhere, and for "
        "types that NumPy has not.");
    c.def(
        "__reduce__", [](Tensor & t) -> As<"tuple[Any, ...]"> {
            return py::make_tuple(package().attr("_strata").attr("_restored"), state_of(t));
        });
    c.def("__copy__", [](const Tensor& t) { return t; });
    c.def("__deepcopy__", [](Tensor& t, As<"dict[int, Any]">) { return deep_copy(t); }, py::arg("memo"));
}

void bind_protocols(TensorClass& c) {
    c.def("__len__", [](const Tensor& t) {
        if (t.ndim() == 0) throw py::type_error("len() of a 0-d tensor");
        return t.size(0);
    });
    c.def(
        "__iter__", [](const Tensor& t) -> As<"Iterator[Tensor]"> {
            if (t.ndim() == 0) throw py::type_error("iteration over a 0-d tensor");
            // Python's cache of methods keeps names that are made again: some thousands, one by one.
            static PyObject* const item = PyUnicode_InternFromString("__getitem__");
            const py::handle map(reinterpret_cast<PyObject*>(&PyMap_Type));
            const py::handle range(reinterpret_cast<PyObject*>(&PyRange_Type));
            return map(py::cast(t).attr(py::handle(item)), range(t.size(0)));
        });
    c.def(
        "__contains__",
        [](const Tensor& t, const Operand& value) {
            Tensor any = ops::eq(t, value).any();
            return to_bool(any);
        },
        py::arg("value"), py::pos_only());
    c.def("__bool__", &to_bool);
    c.def("__float__", [](Tensor& t) { return one_value(t).as_double(); });
    c.def(
        "__complex__", [](Tensor & t) -> As<"complex"> {
            const Number n = one_value(t);
            if (n.kind == Kind::Complex) return to_python(n);
            return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(n.as_double(), 0));
        });
    c.def(
        "__int__", [](Tensor & t) -> As<"int"> {
            PyObject* whole = PyNumber_Long(to_python(one_value(t)).ptr());
            if (!whole) throw py::error_already_set();
            return py::reinterpret_steal<py::object>(whole);
        });
    c.def(
        "__index__", [](Tensor & t) -> As<"int"> {
            if (!t.dtype().is_integer()) throw py::type_error("only an integer tensor of one element can be an index");
            return to_python(one_value(t));
        });
    c.def("__repr__", [](Tensor& t) {
        const std::shared_ptr<const Settings> own = settings_of_context();
        const bool graphs = (own ? *own : settings()).debug > 0;
        return graphs ? described(t, t.is_realized() ? "" : ", lazy") : printed(t);
    });
    c.def("__str__", &printed);
    c.def(
        "__format__", [](Tensor & t, const std::string& format) -> As<"str"> {
            if (format.empty()) return py::object(py::str(printed(t)));
            return py::module_::import("builtins").attr("format")(to_python(one_value(t)), format);
        },
        py::arg("format"), py::pos_only());
}

}  // namespace

void bind_data(py::module_& m, TensorClass& c) {
    m.def("_restored", &restored, py::arg("bytes"), py::arg("shape"), py::arg("dtype"), py::arg("device"),
          py::arg("requires_grad") = false);
    bind_properties(c);
    bind_values(c);
    bind_exchange(c);
    bind_dlpack(m, c);
    bind_protocols(c);
}

}  // namespace strata::python
