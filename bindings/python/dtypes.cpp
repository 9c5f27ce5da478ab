#include "convert_p.h"

namespace strata::python {

DType to_dtype(py::handle value) {
    if (py::isinstance<DType>(value)) return value.cast<DType>();
    if (py::isinstance<py::str>(value)) return parse_dtype(value.cast<std::string>());
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return dtypes::boolean;
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return dtypes::int64;
    if (value.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return dtypes::float32;
    if (py::hasattr(value, "name")) return parse_dtype(py::str(value.attr("name")).cast<std::string>());  // numpy.dtype
    if (py::hasattr(value, "__name__"))
        return parse_dtype(py::str(value.attr("__name__")).cast<std::string>());  // numpy.float32
    user_error(ErrorKind::DType, "not an element type: {}", py::repr(value).cast<std::string>());
}

OptionalDType to_optional_dtype(py::handle value) {
    if (!value || value.is_none()) return {};
    return to_dtype(value);
}

void bind_dtypes(py::module_& m) {
    py::class_<DType>(m, "DType", "An element type.")
        .def_property_readonly("name", [](DType t) { return std::string(t.name()); })
        .def_property_readonly("itemsize", &DType::bytes, "Bytes of one element.")
        .def_property_readonly("bits", &DType::bits)
        .def_property_readonly("is_float", &DType::is_float)
        .def_property_readonly("is_integer", &DType::is_integer)
        .def_property_readonly("is_unsigned", &DType::is_unsigned)
        .def_property_readonly("is_bool", &DType::is_bool)
        .def_property_readonly(
            "numpy_name", [](DType t) { return std::string(t.numpy()); },
            "NumPy's name, or '' where NumPy has no such type.")
        .def("__repr__", [](DType t) { return "dtypes." + std::string(t.name()); })
        .def("__eq__",
             [](DType a, py::handle b) {
                 if (b.is_none()) return false;
                 try {
                     return a == to_dtype(b);
                 } catch (const Exception&) {
                     return false;
                 }
             })
        .def("__hash__", [](DType t) { return static_cast<int>(t.scalar); });
    py::module_ d = m.def_submodule(
        "dtypes",
        "Element types: bool, int8-int64, uint8-uint64, float16, bfloat16, float32, float64 and the fp8 formats.");
    py::list names;
    for (DType t : all_dtypes()) {
        d.attr(std::string(t.name()).c_str()) = t;
        names.append(t);
    }
    d.attr("bool") = dtypes::boolean;
    d.attr("index") = dtypes::index;
    d.attr("all") = names;
    m.def("promote", &promote, "The type of an operation between two types.");
    m.def("result_type",
          [](py::handle a, py::handle b) { return ops::result_type(OperandHolder(a).get(), OperandHolder(b).get()); });
}

}  // namespace strata::python
