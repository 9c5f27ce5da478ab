// Arguments of a captured call, and whether a call has them again.
#include "given_p.h"

#include "guards_p.h"
#include "tensor_object_p.h"

namespace strata::python {

Given::Given(PyObject* value) : value_(py::reinterpret_borrow<py::object>(value)) {
    const auto take = [&](PyObject* part) { parts_.emplace_back(part); };
    if (tensor_in(value)) {
        kind_ = Kind::tensor;
    } else if (PyList_CheckExact(value) || (PyTuple_Check(value) && !Py_TYPE(value)->tp_dictoffset)) {  // no attributes
        kind_ = PyList_CheckExact(value) ? Kind::list : Kind::tuple;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) take(PySequence_Fast_GET_ITEM(value, i));
    } else if (PyDict_CheckExact(value)) {
        kind_ = Kind::dict;
        PyObject *key = nullptr, *item = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);) {
            keys_.push_back(py::reinterpret_borrow<py::object>(key));
            take(item);
        }
    }
    if (kind_ != Kind::object) value_ = py::reinterpret_borrow<py::object>(py::type::handle_of(value));
}

bool Given::is_again(PyObject* now, std::vector<py::object>& tensors) const {
    if (kind_ == Kind::object) return now == value_.ptr() || Guards::equal(now, value_.ptr());
    if (kind_ == Kind::tensor) {
        if (!tensor_in(now)) return false;
        tensors.push_back(py::reinterpret_borrow<py::object>(now));
        return true;
    }
    if (reinterpret_cast<PyObject*>(Py_TYPE(now)) != value_.ptr()) return false;
    if (kind_ == Kind::dict) return are_items_again(now, tensors);
    return are_again({PySequence_Fast_ITEMS(now), static_cast<size_t>(PySequence_Fast_GET_SIZE(now))}, tensors);
}

bool Given::are_again(std::span<PyObject* const> now, std::vector<py::object>& tensors) const {
    if (now.size() != parts_.size()) return false;
    for (size_t i = 0; i < now.size(); ++i)
        if (!parts_[i].is_again(now[i], tensors)) return false;
    return true;
}

bool Given::are_again(PyObject* names, PyObject* const* now, std::vector<py::object>& tensors) const {
    const size_t count = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
    if (count != parts_.size()) return false;
    for (size_t i = 0; i < count; ++i)
        if (!is_item_again(i, PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)), now[i], tensors)) return false;
    return true;
}

bool Given::are_items_again(PyObject* now, std::vector<py::object>& tensors) const {
    if (PyDict_GET_SIZE(now) != static_cast<Py_ssize_t>(parts_.size())) return false;
    PyObject *key = nullptr, *item = nullptr;
    size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(now, &at, &key, &item); ++i)
        if (!is_item_again(i, key, item, tensors)) return false;
    return true;
}

bool Given::is_item_again(size_t i, PyObject* key, PyObject* now, std::vector<py::object>& tensors) const {
    const bool same_key = key == keys_[i].ptr() || Guards::equal(key, keys_[i].ptr());
    return same_key && parts_[i].is_again(now, tensors);
}

}  // namespace strata::python
