// Calls of a user's kernel: Python's arguments, launches, the module's variables.
#include "foreign_p.h"
#include "front_end_p.h"
#include "kernels_p.h"
#include "tensor_object_p.h"
#include "vectorcall_p.h"

namespace strata::python {
namespace {

using runtime::CustomKernel;
using Kernel = std::shared_ptr<CustomKernel>;

/// The bytes of anything with the buffer protocol, row by row.
std::vector<uint8_t> bytes_of_buffer(py::handle value) {
    Py_buffer view;
    if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_FULL_RO) != 0) throw py::error_already_set();
    std::vector<uint8_t> bytes(static_cast<size_t>(view.len));
    const int status = PyBuffer_ToContiguous(bytes.data(), &view, view.len, 'C');
    PyBuffer_Release(&view);
    if (status != 0) throw py::error_already_set();
    return bytes;
}

Number real_number(py::handle value) {
    Number n = to_number(value);
    if (n.kind == Kind::Complex)
        user_error(ErrorKind::DType, "a kernel takes no complex number: pass the parts of {}, .real and .imag",
                   shown(value));
    return n;
}

/// A NumPy scalar or 0-d array: a number with a type of its own, or a record.
ops::KernelArgument of_numpy_scalar(py::handle value) {
    py::object type = value.attr("dtype");
    if (!type.attr("fields").is_none() || type.attr("kind").cast<std::string>() == "V") return bytes_of_buffer(value);
    DType exact = parse_dtype(py::str(type.attr("name")).cast<std::string>());
    return {real_number(exact.is_float() ? py::float_(py::reinterpret_borrow<py::object>(value)).cast<py::object>()
                                         : value.attr("item")()),
            exact};
}

/// True if it is a number, structure or array of ctypes. A pointer's bytes are an address of the host, which no kernel
/// can use.
bool is_ctypes(py::handle value) {
    if (!py::hasattr(value, "_b_base_")) return false;
    const py::object type = py::getattr(value, "_type_", py::none());
    const bool simple = py::isinstance<py::str>(type);
    if (py::hasattr(value, "contents") ||
        (simple && std::string_view("zZPO").find(type.cast<std::string>()) != std::string_view::npos))
        user_error(ErrorKind::Launch,
                   "a ctypes pointer is an address of the host; give what it points to (pointer.contents), or a tensor "
                   "for memory");
    return true;
}

py::tuple launched(const Kernel& kernel, std::span<PyObject* const> values, py::handle grid, py::handle block,
                   py::handle lds, py::handle outputs) {
    std::vector<ops::KernelArgument> arguments;
    std::vector<py::handle> tensors;  // Python's; none where the tensor was made here
    arguments.reserve(values.size());
    tensors.reserve(values.size());
    for (PyObject* value : values) {
        arguments.push_back(to_kernel_argument(value));
        if (arguments.back().tensor) tensors.push_back(tensor_in(value) ? value : py::handle());
    }
    const ops::LaunchOptions options{to_dims(grid, "grid"), to_dims(block, "block"),
                                     lds.is_none() ? std::nullopt : std::optional(lds.cast<uint32_t>())};
    return launch_kernel(kernel, arguments, tensors, options, to_outputs(outputs));
}

py::tuple call(const Kernel& kernel, const py::args& values, py::handle grid, py::handle block, py::handle lds,
               py::handle outputs) {
    const std::vector<PyObject*> all(&PyTuple_GET_ITEM(values.ptr(), 0),
                                     &PyTuple_GET_ITEM(values.ptr(), 0) + values.size());
    return launched(kernel, all, grid, block, lds, outputs);
}

bool is_plain_number(PyObject* value) { return PyLong_CheckExact(value) || PyFloat_CheckExact(value); }
bool is_plain_size(PyObject* value) {
    if (!PyTuple_CheckExact(value)) return value == Py_None || PyLong_CheckExact(value);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(value, i))) return false;
    return true;
}

/// The same by the vectorcall protocol, of tensors and numbers; nothing where the call has anything else.
py::object call_at_once(PyObject* self, const CallArguments& given) {
    static PyObject* const name_of_grid = PyUnicode_InternFromString("grid");
    static PyObject* const name_of_block = PyUnicode_InternFromString("block");
    PyObject *grid = Py_None, *block = Py_None;
    const std::span<PyObject* const> values = given.unnamed(), named = given.all.last(given.named());
    for (size_t i = 0; i < named.size(); ++i) {
        PyObject* const name = PyTuple_GET_ITEM(given.names, static_cast<Py_ssize_t>(i));
        if ((name != name_of_grid && name != name_of_block) || !is_plain_size(named[i])) return {};
        (name == name_of_grid ? grid : block) = named[i];
    }
    for (PyObject* value : values)
        if (!tensor_in(value) && value != Py_None && !is_plain_number(value)) return {};
    return launched(py::handle(self).cast<Kernel>(), values, grid, block, py::none(), py::none());
}

using CalledAtOnce = Vectorcall<&call_at_once>;

/// The variables of a kernel's module, by name.
struct Globals {
    Kernel kernel;
    std::string device = {};  ///< "": the default device

    ops::Variables variables() const { return ops::Variables(kernel, device); }
};
struct Variable {
    Globals of;
    std::string name;
    size_t nbytes;
};

auto names(const Globals& globals) {
    return computing([&] { return globals.variables().names(); });
}

Variable variable(const Globals& globals, const std::string& name) {
    return {globals, name, computing([&] { return globals.variables().size(name); })};
}

py::bytes read(const Variable& v) {
    std::vector<uint8_t> bytes = computing([&] { return v.of.variables().read(v.name); });
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::object as_numpy(const Variable& v, const As<"DTypeLike">& dtype, const As<"Shape | None">& shape) {
    py::module_ numpy = py::module_::import("numpy");
    py::object named = dtype;
    if (py::isinstance<DType>(dtype)) named = numpy_dtype(dtype.cast<DType>());
    py::object type = numpy.attr("dtype")(named);
    if (const auto item = type.attr("itemsize").cast<size_t>(); item == 0 || v.nbytes % item != 0)
        user_error(ErrorKind::DType, "the variable '{}' has {} bytes, no whole number of {}", v.name, v.nbytes,
                   py::str(type).cast<std::string>());
    py::object array = numpy.attr("frombuffer")(read(v), type).attr("copy")();
    return shape.is_none() ? array : array.attr("reshape")(shape);
}

void write(const Variable& v, const As<"KernelArgument">& value) {
    std::vector<uint8_t> bytes;
    if (is_number(value) && !py::hasattr(value, "dtype")) {
        const Number n = real_number(value);
        bytes = runtime::bytes_of_number({n.kind, n.i, n.f}, v.nbytes).value();
    } else if (PyObject_CheckBuffer(value.ptr())) {
        bytes = bytes_of_buffer(value);
    } else {
        Tensor t = to_tensor(value);
        bytes.resize(static_cast<size_t>(t.nbytes()));
        t.to_host(bytes.data());
    }
    computing([&] { v.of.variables().write(v.name, bytes); });
}

void bind_globals(py::module_& m) {
    py::class_<Variable>(m, "KernelVariable", "A __device__ or __constant__ variable of a kernel's module.")
        .def_readonly("name", &Variable::name, "As C++ writes it.")
        .def_readonly("nbytes", &Variable::nbytes, "Its size.")
        .def("__bytes__", &read)
        .def("numpy", &as_numpy, py::arg("dtype") = "uint8", py::arg("shape") = py::none(),
             "Its value now, as an array of a type that the caller knows.")
        .def("write", &write, py::arg("value"),
             "Sets all of it: an array or bytes of its size, or a number that takes its size. Raises UsageError.")
        .def("__repr__",
             [](const Variable& v) { return fmt::format("<KernelVariable {} of {} bytes>", v.name, v.nbytes); });
    py::class_<Globals>(m, "KernelGlobals",
                        "The variables of a kernel's module on a device, the default one if on() does not say, by "
                        "name. Kernels of one\n"
                        "code object share them.")
        .def(
            "on",
            [](const Globals& g, const std::string& device) {
                return Globals{g.kernel, computing([&] { return runtime::device(device).name(); })};
            },
            py::arg("device"), "Those on another device, by its name.")
        .def(
            "__getitem__", [](const Globals& g, const std::string& name) { return variable(g, name); }, py::arg("name"))
        .def(
            "__setitem__",
            [](const Globals& g, const std::string& name, const As<"KernelArgument">& value) {
                write(variable(g, name), value);
            },
            py::arg("name"), py::arg("value"), "KernelVariable.write.")
        .def(
            "keys", [](const Globals& g) { return names(g); }, "Their names.")
        .def("__iter__", [](const Globals& g) { return py::iter(py::cast(names(g))); })
        .def("__len__", [](const Globals& g) { return names(g).size(); });
}

}  // namespace

namespace {

/// The tensor of this number among those of the arguments.
Tensor tensor_at(const std::vector<ops::KernelArgument>& arguments, size_t number) {
    for (auto at = arguments.begin();; ++at)
        if (at->tensor && number-- == 0) return *at->tensor;
}

}  // namespace

py::tuple launch_kernel(const Kernel& kernel, const std::vector<ops::KernelArgument>& arguments,
                        const std::vector<py::handle>& tensors, const ops::LaunchOptions& options,
                        const ops::Outputs& outputs) {
    const std::vector<size_t> written =
        computing([&] { return ops::launch_in_place(arguments, kernel, options, outputs); });
    py::tuple results(written.size());
    for (size_t i = 0; i < written.size(); ++i) {
        const py::handle given = tensors[written[i]];
        results[i] = given ? py::reinterpret_borrow<py::object>(given) : py::cast(tensor_at(arguments, written[i]));
    }
    return results;
}

ops::Dims to_dims(py::handle value, const char* what) {
    if (value.is_none()) return {};
    uint32_t out[3] = {1, 1, 1};
    Shape sizes = to_shape(value);
    if (sizes.empty() || sizes.size() > 3)
        user_error(ErrorKind::Launch, "{} has 1 to 3 dimensions, got {}", what, sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 1 || sizes[i] > 0x7fffffff)
            user_error(ErrorKind::Launch, "{} {}: every dimension is at least 1 and below 2^31", what,
                       to_string(sizes));
        out[i] = static_cast<uint32_t>(sizes[i]);
    }
    return ops::Dims{out[0], out[1], out[2]};
}

ops::KernelArgument to_kernel_argument(py::handle value) {
    if (Tensor* const tensor = tensor_in(value.ptr())) return *tensor;
    if (value.is_none()) return nullptr;
    if (PyLong_CheckExact(value.ptr()) || PyFloat_CheckExact(value.ptr())) return to_number(value);
    if (py::isinstance<Pointer>(value)) return runtime::Argument::Address{value.cast<Pointer&>().address};
    if (py::hasattr(value, "dtype") && py::hasattr(value, "shape") && py::len(value.attr("shape")) == 0)
        return of_numpy_scalar(value);
    if (is_number(value)) return real_number(value);
    if (PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr()) || is_ctypes(value)) return bytes_of_buffer(value);
    return to_tensor(value);
}

ops::Outputs to_outputs(py::handle value) {
    ops::Outputs outputs;
    if (value.is_none()) return outputs;
    auto add = [&](py::handle one) {
        if (py::isinstance<py::str>(one))
            outputs.emplace_back(one.cast<std::string>());
        else if (PyIndex_Check(one.ptr()) && !PyBool_Check(one.ptr()))
            outputs.emplace_back(one.cast<int64_t>());
        else
            user_error(ErrorKind::Usage, "[outputs] an argument's place or its parameter's name was expected, got {}",
                       py::repr(one).cast<std::string>());
    };
    if (py::isinstance<py::str>(value) || PyIndex_Check(value.ptr()))
        add(value);
    else
        for (py::handle one : value) add(one);
    return outputs;
}

void bind_kernel_calls(py::module_& m, KernelClass& c) {
    bind_globals(m);
    c.def_property_readonly(
        "globals", [](const Kernel& k) { return Globals{k}; },
        "KernelGlobals of the kernel's module, which this loads.");
    OwnSignature own;
    c.def("__call__", &call, py::kw_only(), py::arg("grid") = py::none(), py::arg("block") = py::none(),
          py::arg("lds") = py::none(), py::arg("outputs") = py::none(),
          "__call__(self, *arguments: KernelArgument, grid: Sizes | None = None, block: Sizes | None = None, lds: int "
          "| None = None, outputs: str | int | Sequence[str | int] | None = None) -> tuple[Tensor, ...]\n\nLaunches "
          "the kernel now.\n\narguments: in the kernel's order. A pointer takes a tensor or what makes one, or None "
          "for no memory. A value takes a\nPython or NumPy number. A struct takes its bytes, a ctypes structure or a "
          "NumPy record. A tensor that the kernel\nwrites is changed; no other is: what shared its memory keeps its "
          "value. grid, block, lds: instead of the kernel's own.\noutputs: places or parameter names of the tensors to "
          "return; none: those of pointers that are not to const. Raises\nLaunchError when an argument does not "
          "fit its parameter.");
    CalledAtOnce::call_by_slot(*reinterpret_cast<PyTypeObject*>(c.ptr()));
}

void call_kernels_at_once(PyHeapTypeObject* type) { CalledAtOnce::take_slots(type, "__call__"); }

}  // namespace strata::python
