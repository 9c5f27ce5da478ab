#pragma once
#include <span>

#include "capture/collected_p.h"

namespace strata::python {

/// The arguments of a call as Python's vectorcall protocol gives them: `names` of the last ones, null: they have none.
struct CallArguments {
    std::span<PyObject* const> all;
    PyObject* names;

    size_t named() const { return names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0; }
    std::span<PyObject* const> unnamed() const { return all.first(all.size() - named()); }
};

/// For py::custom_type_setup: objects of a class, and of Python's classes over it, are called by the vectorcall
/// protocol. `call` gives the result for an object, or nothing where its method `otherwise` is to give it.
template <py::object (*call)(PyObject* self, const CallArguments&)>
class Vectorcall {
  public:
    static void take_slots(PyHeapTypeObject* heap_type, const char* otherwise) {
        PyTypeObject& type = heap_type->ht_type;
        otherwise_ = PyUnicode_InternFromString(otherwise);
        type.tp_vectorcall_offset = type.tp_basicsize;
        type.tp_basicsize += static_cast<Py_ssize_t>(sizeof(vectorcallfunc));
        type.tp_alloc = &allocated;
        type.tp_new = &made;
        call_by_slot(type);
    }
    /// Once more for a class that has got a method __call__ since.
    static void call_by_slot(PyTypeObject& type) {
        type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        type.tp_call = &PyVectorcall_Call;
    }

  private:
    static PyObject* with_slot(PyObject* self) {
        if (self) *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(self) + offset(self)) = &called;
        return self;
    }
    static Py_ssize_t offset(PyObject* self) { return Py_TYPE(self)->tp_vectorcall_offset; }
    static PyObject* allocated(PyTypeObject* type, Py_ssize_t items) {
        return with_slot(PyType_GenericAlloc(type, items));
    }
    static PyObject* made(PyTypeObject* type, PyObject*, PyObject*) {
        PyObject* const self = with_slot(py::detail::make_new_instance(type));
        // Before 3.12 a class of Python's does not have it from its base.
        if (self && type->tp_call == &PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        return self;
    }
    static PyObject* called(PyObject* self, PyObject* const* args, size_t flagged, PyObject* names) {
        const size_t unnamed = static_cast<size_t>(PyVectorcall_NARGS(flagged));
        const CallArguments given{{args, unnamed + (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0)}, names};
        try {
            if (py::object result = call(self, given)) return result.release().ptr();
        } catch (...) {
            static PyObject* const rethrow =
                py::cpp_function([] { throw; }).release().ptr();  // as pybind11 tells Python
            return PyObject_CallNoArgs(rethrow);
        }
        const auto method = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, otherwise_));
        return method ? PyObject_Vectorcall(method.ptr(), args, unnamed, names) : nullptr;
    }
    static inline PyObject* otherwise_ = nullptr;
};

}  // namespace strata::python
