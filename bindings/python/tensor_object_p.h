#pragma once
#include "convert_p.h"

// Python's tensors without pybind11's look-ups by type, which take longer than what a small call does with the tensors.

namespace strata::python {

/// It lives as long as the module.
inline const py::detail::type_info& tensor_info() {
    static const py::detail::type_info* info = py::detail::get_type_info(typeid(Tensor));
    return *info;
}

/// Null: it is none.
inline Tensor* tensor_in(PyObject* object) {
    PyTypeObject* const type = tensor_info().type;
    if (Py_TYPE(object) != type) return PyObject_TypeCheck(object, type) ? py::handle(object).cast<Tensor*>() : nullptr;
    auto* const found = static_cast<Tensor*>(reinterpret_cast<py::detail::instance*>(object)->simple_value_holder[0]);
    return found ? found : py::handle(object).cast<Tensor*>();
}

py::object tensor_object(Tensor&& t);
/// For py::custom_type_setup of the tensors' type.
void keep_tensor_objects(PyHeapTypeObject* type);

}  // namespace strata::python
