#include "convert_p.h"

namespace strata::python {
namespace {

[[noreturn]] void* no_value(size_t) { throw py::type_error("the object has no value: it was made without __init__"); }

/// pybind11 gives memory to an object that reaches a function without a value, as after T.__new__(T).
void refuse_objects_without_value(py::handle module) {
    for (auto [name, member] : module.attr("__dict__").cast<py::dict>()) {
        if (PyModule_Check(member.ptr())) refuse_objects_without_value(member);
        if (!PyType_Check(member.ptr())) continue;
        if (auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(member.ptr())))
            type->operator_new = no_value;
    }
}

}  // namespace
}  // namespace strata::python

PYBIND11_MODULE(_strata, m) {
    m.doc() =
        "Strata's core: tensors, UOps, kernels, the assembler and the emulator.\n\nShapes are in elements, row-major. "
        "Times "
        "are in milliseconds; on an emulated device `time_ms` is modelled: what the kernel\nwould take on the GPU that "
        "is "
        "modelled, not what it took here. Every error is a strata.Error.";
    strata::python::bind_front_end();
    strata::python::bind_errors(m);
    strata::python::bind_dtypes(m);
    strata::python::bind_emulator(m);
    strata::python::bind_tensor(m);
    strata::python::bind_functions(m);
    strata::python::bind_uop(m);
    strata::python::bind_kernels(m);
    strata::python::bind_settings(m);
    strata::python::bind_runtime(m);
    strata::python::bind_asm(m);
    strata::python::bind_bench(m);
    strata::python::refuse_objects_without_value(m);
}
