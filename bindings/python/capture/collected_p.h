#pragma once
#include "convert_p.h"

namespace strata::python {

/// The value of an object of such a class, or of a class of Python's over it; null: none was made yet.
template <class T>
T* value_in(PyObject* object) {
    auto* const instance = reinterpret_cast<py::detail::instance*>(object);
    return instance->simple_layout ? static_cast<T*>(instance->simple_value_holder[0]) : nullptr;
}

/// The same; an error where none was made yet.
template <class T>
T& value_of(PyObject* object) {
    T* const found = value_in<T>(object);
    return found ? *found : py::handle(object).cast<T&>();
}

/// For py::custom_type_setup of a class that holds Python's objects: its collector finds rings through them, by
/// `int traverse(visitproc, void*) const`, and opens them by `void clear()`.
template <class T>
void let_collect(PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        const T* const value = value_in<T>(self);
        return value ? value->traverse(visit, arg) : 0;
    };
    type.tp_clear = [](PyObject* self) {
        if (T* const value = value_in<T>(self)) value->clear();
        return 0;
    };
}

/// Visits objects, or what holds some.
inline int traverse_all(const std::vector<py::object>& objects, visitproc visit, void* arg) {
    for (const py::object& o : objects) Py_VISIT(o.ptr());
    return 0;
}
template <class T>
int traverse_all(const std::vector<T>& parts, visitproc visit, void* arg) {
    for (const T& part : parts)
        if (const int stop = part.traverse(visit, arg)) return stop;
    return 0;
}

}  // namespace strata::python
