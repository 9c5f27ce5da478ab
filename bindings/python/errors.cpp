#include <map>
#include <new>

#include "convert_p.h"
#include "strata/core/process/address_limit.h"
#include "strata/core/support/error.h"
#include "strata/core/support/interrupt.h"
#include "strata/ops/index_error.h"
#include "strata/plan/status.h"

namespace strata::python {
namespace {

using namespace py::literals;

/// One Python class a kind, by ErrorKind; owned by the module for the life of the process.
std::vector<PyObject*>& classes() {
    static auto* all = new std::vector<PyObject*>;
    return *all;
}

/// Messages quote files, whose bytes may be anything.
py::object text(const std::string& bytes) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

py::object class_of(ErrorKind kind) { return py::reinterpret_borrow<py::object>(classes()[static_cast<size_t>(kind)]); }

/// The class of a kind that is an IndexError too, as NumPy's and the array API's are; made once.
py::object index_class(ErrorKind kind) {
    static auto* made = new std::map<ErrorKind, PyObject*>;
    PyObject*& type = (*made)[kind];
    if (!type) {
        const py::object of_kind = class_of(kind);
        const std::string name = "strata._Index" + std::string(strata::name(kind));
        type = PyErr_NewExceptionWithDoc(name.c_str(), "An index that has no place in the tensor.",
                                         py::make_tuple(of_kind, py::handle(PyExc_IndexError)).ptr(), nullptr);
    }
    return py::reinterpret_borrow<py::object>(type);
}

py::object value_of(const Error& error, const py::object& type) {
    py::object value = type(text(error.message));
    value.attr("log") = text(error.log);
    value.attr("source") = text(error.source);
    value.attr("file") = text(error.file);
    value.attr("line") = error.line;
    value.attr("column") = error.column;
    return value;
}

void raise(const Error& error, const py::object& type) { PyErr_SetObject(type.ptr(), value_of(error, type).ptr()); }

/// Of a plan: with the members that strata.plan describes.
void raise_of_plan(const plan::PlanError& error) {
    const py::object type = class_of(error.kind());
    py::object value = value_of(error.error(), type);
    value.attr("status") = text(std::string(plan::name(error.status())));
    value.attr("operand") = text(error.operand());
    value.attr("needed") = error.needed();
    value.attr("got") = error.got();
    PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void bind_errors(py::module_& m) {
    py::object base = py::reinterpret_steal<py::object>(
        PyErr_NewExceptionWithDoc("strata.Error",
                                  "Base of every error Strata raises. log: a compiler's whole output; source: the text "
                                  "that the error is about;\nfile, line, column: where, from 1 on. '' and 0: unknown.",
                                  nullptr, nullptr));
    base.attr("__annotations__") =
        py::dict("log"_a = "str", "source"_a = "str", "file"_a = "str", "line"_a = "int", "column"_a = "int");
    m.attr("Error") = base;
#define ERROR(kind, python, builtin, meaning)                                                         \
    {                                                                                                 \
        py::tuple bases = py::make_tuple(base, py::reinterpret_borrow<py::object>(PyExc_##builtin));  \
        PyObject* type = PyErr_NewExceptionWithDoc("strata." #python, meaning, bases.ptr(), nullptr); \
        classes().push_back(type);                                                                    \
        m.attr(#python) = py::reinterpret_borrow<py::object>(type);                                   \
    }
#include "strata/core/support/errors.def"
#undef ERROR
    py::object usage = m.attr("UsageError"), type_error = py::reinterpret_borrow<py::object>(PyExc_TypeError);
    m.attr("ArgumentError") = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
        "strata.ArgumentError",
        "An argument that a function does not have, or of a type or range that it does not take; the message has both.",
        py::make_tuple(usage, type_error).ptr(), nullptr));
    py::register_exception_translator([](std::exception_ptr p) {
        try {
            if (p) std::rethrow_exception(p);
        } catch (const IndexException& e) {
            raise(e.error(), index_class(e.kind()));
        } catch (const plan::PlanError& e) {
            raise_of_plan(e);
        } catch (const Exception& e) {
            raise(e.error(), class_of(e.kind()));
        } catch (const Interrupted&) {
            raise_interruption();
        } catch (const std::bad_alloc&) {
            raise(make_error(ErrorKind::Device, "the host has no memory left{}", address_limit_note()),
                  class_of(ErrorKind::Device));
        }
    });
}

}  // namespace strata::python
