#include "convert_p.h"
#include "lang/lang_p.h"
#include "layout/layout_p.h"
#include "package_p.h"
#include "tune_p.h"

namespace strata::python {
namespace {

[[noreturn]] void* no_value(size_t) { throw py::type_error("the object has no value: it was made without __init__"); }

PyObject* no_object(PyTypeObject* type, PyObject*, PyObject*) {
    PyErr_Format(PyExc_TypeError, "%s: the class makes no objects, functions of strata do", type->tp_name);
    return nullptr;
}

/// pybind11 gives memory to an object that reaches a function without a value, as after T.__new__(T). It does not if
/// the value is shared: then its class makes none.
void refuse_objects_without_value(py::handle module) {
    for (auto [name, member] : module.attr("__dict__").cast<py::dict>()) {
        if (PyModule_Check(member.ptr())) refuse_objects_without_value(member);
        if (!PyType_Check(member.ptr())) continue;
        auto* type = reinterpret_cast<PyTypeObject*>(member.ptr());
        auto* info = py::detail::get_type_info(type);
        if (info) info->operator_new = no_value;
        if (info && info->holder_enum_v == py::detail::holder_enum_t::std_shared_ptr) type->tp_new = no_object;
    }
}

}  // namespace
}  // namespace strata::python

PYBIND11_MODULE(_strata, m) {
    m.doc() =
        "Strata's core: tensors, UOps, kernels, the assembler and the emulator.\n\nShapes are in elements, row-major. "
        "Times are in milliseconds. On an emulated device `time_ms` is modelled: the time of\nthe kernel on the "
        "modelled GPU, not the time that it took here. Every error is a strata.Error.";
    strata::python::bind_front_end();
    strata::python::bind_errors(m);
    strata::python::bind_dtypes(m);
    strata::python::bind_emulator(m);
    strata::python::bind_tensor(m);
    strata::python::bind_namespace(m);
    strata::python::bind_functions(m);
    strata::python::bind_uop(m);
    strata::python::bind_kernels(m);
    strata::python::bind_settings(m);
    strata::python::bind_strict(m);
    strata::python::bind_runtime(m);
    strata::python::bind_streams(m);
    strata::python::bind_profile(m);
    strata::python::bind_plan(m);
    strata::python::bind_tune(m);
    strata::python::bind_asm(m);
    strata::python::bind_lint(m);
    strata::python::bind_package(m);
    strata::python::bind_bench(m);
    strata::python::bind_layout(m);
    strata::python::bind_lang(m);
    strata::python::refuse_objects_without_value(m);
    strata::python::bind_arguments(m);  // last: it goes through what is bound
}
