#include <unordered_map>

#include "convert_p.h"
#include "package_p.h"

// Calls that no bound function takes. pybind11 says so in its own words: strata/_hints.py says it in Strata's, or makes
// the call with the names that Strata has for the arguments. Calls that are right pay one comparison.
namespace strata::python {
namespace {

using Call = PyObject* (*)(PyObject*, PyObject* const*, size_t, PyObject*);

Call& dispatcher() {
    static Call it = nullptr;
    return it;
}

/// The Python function of each record that pybind11 gives its dispatcher; they live as long as the module.
std::unordered_map<PyObject*, PyObject*>& functions() {
    static auto* all = new std::unordered_map<PyObject*, PyObject*>;
    return *all;
}

/// Is the error in flight pybind11's about arguments that it cannot convert?
bool about_arguments(std::string_view text) {
    return text.find("): incompatible ") != text.npos || text.starts_with("Unable to cast Python instance");
}

PyObject* explained(PyObject* record, PyObject* const* arguments, size_t count, PyObject* names) {
    py::error_already_set error;
    bool ours = error.matches(PyExc_TypeError) || error.matches(PyExc_RuntimeError);
    auto function = functions().find(record);
    try {
        if (!ours || function == functions().end() || !about_arguments(py::str(error.value()).cast<std::string>())) {
            error.restore();
            return nullptr;
        }
        size_t positional = static_cast<size_t>(PyVectorcall_NARGS(count));
        py::tuple given(positional);
        for (size_t i = 0; i < positional; ++i) given[i] = py::reinterpret_borrow<py::object>(arguments[i]);
        py::dict named;
        for (py::ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
            named[PyTuple_GET_ITEM(names, i)] = py::handle(arguments[positional + static_cast<size_t>(i)]);
        const py::handle call = function_of_package(Called::call_meant);
        return call(py::handle(function->second), given, named).release().ptr();
    } catch (py::error_already_set& raised) {
        raised.restore();
        return nullptr;
    }
}

PyObject* guarded(PyObject* record, PyObject* const* arguments, size_t count, PyObject* names) {
    PyObject* result = dispatcher()(record, arguments, count, names);
    return result ? result : explained(record, arguments, count, names);
}

/// The builtin function that a method, a static method or a function wraps.
PyObject* builtin_of(py::handle value) {
    PyObject* f = value.ptr();
    if (PyInstanceMethod_Check(f)) f = PyInstanceMethod_GET_FUNCTION(f);
    if (py::isinstance(value, reinterpret_cast<PyObject*>(&PyStaticMethod_Type))) f = value.attr("__func__").ptr();
    return PyCFunction_Check(f) && PyCFunction_GET_FLAGS(f) == (METH_FASTCALL | METH_KEYWORDS) ? f : nullptr;
}

void guard(PyObject* function) {
    PyMethodDef* row = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    Call call = reinterpret_cast<Call>(reinterpret_cast<void (*)()>(row->ml_meth));
    if (call == guarded) return;
    if (!dispatcher()) dispatcher() = call;
    if (call != dispatcher()) return;  // not pybind11's
    functions().emplace(PyCFunction_GET_SELF(function), function);
    row->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(guarded));
}

void guard_all(py::handle members) {
    for (auto [name, value] : py::dict(members.attr("__dict__").attr("copy")())) {
        if (PyObject* function = builtin_of(value)) guard(function);
        if (PyType_Check(value.ptr()) && py::hasattr(value, "_pybind11_conduit_v1_")) guard_all(value);
    }
}

}  // namespace

void bind_arguments(py::module_& m) {
    guard_all(m);
    for (const char* part : {"uop", "functional", "emulator", "dtypes", "operations", "_layout"})
        guard_all(m.attr(part));
}

}  // namespace strata::python
