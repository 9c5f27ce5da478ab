// What a captured function was seen to depend on, besides the tensors that it was given.
#include "guards_p.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "tensor_object_p.h"

namespace strata::python {

/// The memory of an object that shows it, as it was.
class Guards::Content {
  public:
    explicit Content(PyObject* object) {
        const View now(object);
        if (!now.seen) throw py::error_already_set();
        format_ = now.format();
        shape_.assign(now.view.shape, now.view.shape + now.view.ndim);
        bytes_.resize(static_cast<size_t>(now.view.len));
        if (PyBuffer_ToContiguous(bytes_.data(), &now.view, now.view.len, 'C') != 0) throw py::error_already_set();
    }
    bool is_that_of(PyObject* object) const {
        const View now(object);
        if (!now.seen) PyErr_Clear();
        if (!now.seen || now.view.len != static_cast<Py_ssize_t>(bytes_.size()) || now.format() != format_ ||
            !std::equal(shape_.begin(), shape_.end(), now.view.shape, now.view.shape + now.view.ndim))
            return false;
        if (PyBuffer_IsContiguous(&now.view, 'C')) return std::memcmp(now.view.buf, bytes_.data(), bytes_.size()) == 0;
        std::vector<char> copy(bytes_.size());
        return PyBuffer_ToContiguous(copy.data(), &now.view, now.view.len, 'C') == 0 && copy == bytes_;
    }

  private:
    struct View {
        explicit View(PyObject* object) : seen(PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) == 0) {}
        ~View() {
            if (seen) PyBuffer_Release(&view);
        }
        View(const View&) = delete;
        std::string_view format() const { return view.format ? view.format : "B"; }
        Py_buffer view;
        bool seen;
    };
    std::string format_;
    std::vector<Py_ssize_t> shape_;
    std::vector<char> bytes_;
};

void Guards::add(const std::string& kind, const As<"tuple[Any, ...]">& place) {
    const auto at = py::reinterpret_borrow<py::tuple>(place);
    if (kind == "length")
        rows_.push_back({Kind::length, at[0], {}, {}, PyObject_Size(py::object(at[0]).ptr())});
    else
        rows_.push_back({kind == "tensor" ? Kind::tensor : Kind::same, at[0], at[1], at[2]});
    if (kind == "content") rows_.back().content = std::make_shared<const Content>(rows_.back().value.ptr());
}

int64_t Guards::met(std::vector<py::object>& tensors) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        if (row.kind == Kind::length) {
            if (PyObject_Size(row.holder.ptr()) != row.length) return static_cast<int64_t>(i);
            continue;
        }
        PyObject* now = at(row);
        if (!now) return static_cast<int64_t>(i);
        if (row.kind == Kind::tensor) {
            if (!tensor_in(now)) return static_cast<int64_t>(i);
            tensors.push_back(py::reinterpret_borrow<py::object>(now));
        } else if (now != row.value.ptr() && !equal(now, row.value.ptr())) {
            return static_cast<int64_t>(i);
        } else if (row.content && !row.content->is_that_of(now)) {
            return static_cast<int64_t>(i);
        }
    }
    return make_distinct(tensors) ? kMet : kOthersAreOne;
}

/// Borrowed; null: nothing is there.
PyObject* Guards::at(const Row& row) {
    PyObject* const holder = row.holder.ptr();
    if (PyDict_Check(holder)) return PyDict_GetItem(holder, row.key.ptr());
    if (PyCell_Check(holder)) return PyCell_GET(holder);
    const bool list = PyList_Check(holder);
    if (!list && !PyTuple_Check(holder)) {                 // which its holder keeps alive
        const bool counted = PyLong_Check(row.key.ptr());  // of a deque
        PyObject* found = counted ? PySequence_GetItem(holder, PyLong_AsSsize_t(row.key.ptr()))
                                  : PyObject_GetAttr(holder, row.key.ptr());
        if (!found) PyErr_Clear();
        Py_XDECREF(found);
        return found;
    }
    const Py_ssize_t i = PyLong_AsSsize_t(row.key.ptr());
    if (i >= PySequence_Fast_GET_SIZE(holder)) return nullptr;
    return list ? PyList_GET_ITEM(holder, i) : PyTuple_GET_ITEM(holder, i);
}

bool Guards::equal(PyObject* now, PyObject* then) {
    if (Py_TYPE(now) != Py_TYPE(then)) return false;
    const bool plain = PyFloat_CheckExact(now) || PyLong_CheckExact(now) || PyUnicode_CheckExact(now) ||
                       PyBytes_CheckExact(now) || PyComplex_CheckExact(now) || PyFrozenSet_CheckExact(now) ||
                       PyMethod_Check(now);
    if (!plain) return false;
    if (PyFloat_CheckExact(now)) {
        const double a = PyFloat_AS_DOUBLE(now), b = PyFloat_AS_DOUBLE(then);
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
    return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
}

void Guards::sees(const std::vector<size_t>& first) {
    places_.clear();
    size_t kept = 0;
    for (size_t i = 0; i < first.size(); ++i) places_.push_back(first[i] == i ? kept++ : places_[first[i]]);
}

bool Guards::make_distinct(std::vector<py::object>& all) const {
    constexpr size_t kFew = 16;
    if (all.size() != places_.size()) return false;
    std::unordered_map<PyObject*, size_t> seen;  // where they are many
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        size_t place = 0;
        if (all.size() <= kFew)
            while (place < kept && all[place].ptr() != all[i].ptr()) ++place;
        else
            place = seen.try_emplace(all[i].ptr(), kept).first->second;
        if (place != places_[i]) return false;
        if (place == kept) std::swap(all[kept++], all[i]);
    }
    all.resize(kept);
    return true;
}

}  // namespace strata::python
