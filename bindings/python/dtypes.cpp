#include "foreign_p.h"

namespace strata::python {

std::span<const Foreign> foreign_types() {
#define FOREIGN(type, name, code) {dtypes::type, name, code},
    static constexpr Foreign kRows[] = {
#include "foreign_types.def"
    };
#undef FOREIGN
    return kRows;
}

const Foreign* foreign(DType type) {
    for (const Foreign& row : foreign_types())
        if (row.type == type) return &row;
    return nullptr;
}

DType named_dtype(const std::string& name) {
    for (const Foreign& row : foreign_types())
        if (row.name == name) return row.type;
    return parse_dtype(name);
}

py::object numpy_dtype(DType type) {
    const py::object dtype = py::module_::import("numpy").attr("dtype");
    if (!type.numpy().empty()) return dtype(std::string(type.numpy()));
    const Foreign* row = foreign(type);
    try {
        if (row) return dtype(py::module_::import("ml_dtypes").attr(std::string(row->name).c_str()));
    } catch (py::error_already_set& e) {
        if (!e.matches(PyExc_ImportError)) throw;
    }
    user_error(ErrorKind::DType,
               "NumPy has no {}; cast first, e.g. x.cast(dtypes.float32).numpy(), or install the package ml_dtypes, "
               "which has it",
               type.name());
}

std::string bits_dtype(DType type) {
    return type.numpy().empty() ? fmt::format("uint{}", type.bits()) : std::string(type.numpy());
}

DType to_dtype(py::handle value) {
    if (py::isinstance<DType>(value)) return value.cast<DType>();
    if (py::isinstance<py::str>(value)) return named_dtype(value.cast<std::string>());
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return dtypes::boolean;
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return dtypes::int64;
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return dtypes::float32;
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return dtypes::complex64;
    if (py::hasattr(value, "name")) return named_dtype(py::str(value.attr("name")).cast<std::string>());  // numpy.dtype
    if (py::hasattr(value, "__name__"))
        return named_dtype(py::str(value.attr("__name__")).cast<std::string>());  // numpy.float32
    user_error(ErrorKind::DType, "not an element type: {}", shown(value));
}

void bind_dtypes(py::module_& m) {
    py::class_<DType>(m, "DType", "An element type. Equal to its name, and to the NumPy type it stands for.")
        .def(py::init([](As<"DTypeLike"> like) {
                 bool index = py::isinstance<py::str>(like) && like.cast<std::string>() == dtypes::index.name();
                 return index ? dtypes::index : to_dtype(like);
             }),
             py::arg("like"), "By its name, a NumPy type, or bool, int, float or complex of Python.")
        .def(
            "__reduce__", [](DType t) -> As<"tuple[Any, ...]"> {
                return py::make_tuple(py::type::of<DType>(), py::make_tuple(t.name()));
            })
        .def_property_readonly(
            "name", [](DType t) { return t.name(); }, "'float32', 'boolean', ...")
        .def_property_readonly("itemsize", &DType::bytes, "Bytes of one element.")
        .def_property_readonly("bits", &DType::bits, "Bits of one element.")
        .def_property_readonly("is_float", &DType::is_float, "Whether it is a floating type.")
        .def_property_readonly("is_integer", &DType::is_integer, "Whether it is an integer type; bool is none.")
        .def_property_readonly("is_unsigned", &DType::is_unsigned, "Whether it is an unsigned integer type.")
        .def_property_readonly("is_bool", &DType::is_bool, "Whether it is bool.")
        .def_property_readonly("is_complex", &DType::is_complex, "Whether it is a complex type, of tensors alone.")
        .def_property_readonly("part", &DType::part,
                               "The type of a complex type's real and imaginary part; a real type itself.")
        .def_property_readonly(
            "numpy_name", [](DType t) { return std::string(t.numpy()); },
            "NumPy's name, or '' where NumPy has no such type.")
        .def("__repr__", [](DType t) { return "dtypes." + std::string(t.name()); })
        .def(
            "__eq__",
            [](DType a, As<"object"> b) {
                if (b.is_none()) return false;
                try {
                    return a == to_dtype(b);
                } catch (const Exception&) {
                    return false;
                }
            },
            py::arg("other"), py::pos_only())
        .def("__hash__", [](DType t) { return static_cast<int>(t.scalar); });
    py::module_ d = m.def_submodule(
        "dtypes",
        "Element types: bool, int8-int64, uint8-uint64, float16, bfloat16, float32, float64, the fp8 formats, and of "
        "tensors complex64 and\ncomplex128.\n\n"
        "fp8e4m3: OCP e4m3, no infinity, largest 448. fp8e5m2: OCP e5m2, has infinity, largest 57344. fp8e4m3fnuz: "
        "e4m3 of CDNA3,\nno infinity, one NaN, no negative zero, largest 240. fp8e5m2fnuz: e5m2 of CDNA3, likewise, "
        "largest 57344. index: of ranges and\noffsets in a kernel, int32 or int64, chosen when it is lowered. all: "
        "every real type that a tensor can have, which kernels have too.");
    py::list names;
    for (std::span<const DType> types : {all_dtypes(), complex_dtypes()})
        for (DType t : types) d.attr(std::string(t.name()).c_str()) = t;
    for (DType t : all_dtypes()) names.append(t);
    d.attr("bool") = dtypes::boolean;
    d.attr("index") = dtypes::index;
    d.attr("all") = names;
    m.def("promote", &promote, py::arg("a"), py::arg("b"), py::pos_only(),
          "The type of an operation between two types, by the array API's rules; integer with float gives the float.");
    m.def("result_type", &ops::result_type, py::arg("a"), py::arg("b"), py::pos_only(),
          "The type of an operation between two tensors or numbers; a Python number takes the type of the tensor it "
          "meets.");
}

}  // namespace strata::python
