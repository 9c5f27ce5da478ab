#include "layout/layout_p.h"

namespace strata::python {
namespace {

using namespace py::literals;

/// LayoutError of Python: a ShapeError with what the C++ one has.
void bind_error(py::module_& root, py::module_& m) {
    static PyObject* type = PyErr_NewExceptionWithDoc(
        "strata.LayoutError", "An error of layouts: the message names operation, mode and layouts.",
        root.attr("ShapeError").ptr(), nullptr);
    py::handle(type).attr("__annotations__") =
        py::dict("operation"_a = "str", "mode"_a = "str", "operands"_a = "tuple[str, ...]");
    m.attr("LayoutError") = py::reinterpret_borrow<py::object>(type);
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(p);
        } catch (const lo::LayoutError& e) {
            py::object value = py::handle(type)(e.what());
            for (const char* name : {"log", "source", "file"}) value.attr(name) = "";
            for (const char* name : {"line", "column"}) value.attr(name) = 0;
            value.attr("operation") = e.operation();
            value.attr("mode") = e.mode();
            value.attr("operands") = py::tuple(py::cast(e.operands()));
            PyErr_SetObject(type, value.ptr());
        }
    });
}

}  // namespace

void bind_layout(py::module_& root) {
    py::module_ m =
        root.def_submodule("_layout", "Layouts: nested sizes and strides as functions from coordinates to indices.");
    bind_error(root, m);
    bind_layout_types(m);
    LayoutFunctions functions(m);
    bind_layout_tuples(functions);
    bind_layout_modes(functions);
    bind_layout_algebra(functions);
    bind_layout_banks(functions);
    for (auto [name, member] : m.attr("__dict__").cast<py::dict>())
        if (PyType_Check(member.ptr())) member.attr("__module__") = "strata.layout";
}

}  // namespace strata::python
