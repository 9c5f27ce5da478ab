// The dependencies that a captured function was seen to have, besides its tensors.
#include "guards_p.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

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

Guards::Kind Guards::kind_of(const std::string& name) {
    static constexpr std::pair<std::string_view, Kind> kinds[] = {
        {"same", Kind::same},   {"content", Kind::content},     {"tensor", Kind::tensor}, {"length", Kind::length},
        {"keys", Kind::keys},   {"absent", Kind::absent},       {"object", Kind::object}, {"function", Kind::function},
        {"bases", Kind::bases}, {"attribute", Kind::attribute},
    };
    for (const auto& [known, kind] : kinds)
        if (name == known) return kind;
    user_error(ErrorKind::Usage, "[_Guards] no kind of places is called '{}'", name);
}

void Guards::add(const std::string& name, const As<"tuple[Any, ...]">& place) {
    const Kind kind = kind_of(name);
    const auto given = py::reinterpret_borrow<py::tuple>(place);
    const size_t wanted = kind == Kind::length ? 1 : 3;
    if (!PyTuple_Check(place.ptr()) || given.size() < wanted)
        user_error(ErrorKind::Usage, "[_Guards] a place is (holder, key, value), of a length (holder,)");
    Row row{kind, given[0], {}, {}};
    if (kind == Kind::length) {
        row.length = PyObject_Size(row.holder.ptr());
        if (row.length < 0) throw py::error_already_set();
    } else {
        row.key = given[1];
        row.value = given[2];
    }
    const auto is_pair = [&] { return PyTuple_Check(row.value.ptr()) && PyTuple_GET_SIZE(row.value.ptr()) == 2; };
    if ((kind == Kind::keys && !PyTuple_Check(row.value.ptr())) ||
        (kind == Kind::function && !(PyFunction_Check(row.holder.ptr()) && is_pair())) ||
        (kind == Kind::bases && !PyType_Check(row.holder.ptr())) ||
        (kind == Kind::attribute && !PyUnicode_Check(row.key.ptr())))
        user_error(ErrorKind::Usage, "[_Guards] {} is no place of kind '{}'", shown(place), name);
    if (kind == Kind::bases) row.length = row.key.cast<Py_ssize_t>();
    if (kind == Kind::content) row.content = std::make_shared<const Content>(row.value.ptr());
    rows_.push_back(std::move(row));
}

int64_t Guards::met(std::vector<py::object>& tensors) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const bool of_dict = row.items > 0;
        const size_t failed = of_dict ? first_other_item(i, tensors) : is_met(row, tensors) ? kNone : i;
        if (failed != kNone) {
            PyErr_Clear();
            return static_cast<int64_t>(failed);
        }
        i += row.items;
    }
    return make_distinct(tensors) ? kMet : kOthersAreOne;
}

/// Walks once over the keys of a dict and the rows of its items after them.
size_t Guards::first_other_item(size_t i, std::vector<py::object>& tensors) const {
    PyObject* const holder = rows_[i].holder.ptr();
    const size_t count = rows_[i].items;
    PyObject *key = nullptr, *item = nullptr;
    size_t n = 0;
    for (Py_ssize_t at = 0; PyDict_Next(holder, &at, &key, &item); ++n) {
        if (n == count) return i;
        const Row& row = rows_[i + 1 + n];
        if (key != row.key.ptr() && !equal(key, row.key.ptr())) return i;
        if (!has_value(row, py::reinterpret_borrow<py::object>(item), tensors)) return i + 1 + n;
    }
    return n == count ? kNone : i;
}

/// False with an error of Python's, too.
bool Guards::is_met(const Row& row, std::vector<py::object>& tensors) {
    switch (row.kind) {
        case Kind::length: return PyObject_Size(row.holder.ptr()) == row.length;
        case Kind::keys: return has_keys(row);
        case Kind::absent: return !at(row);
        case Kind::object: return is_object(row);
        case Kind::function: return is_function(row);
        case Kind::bases: return is_class(row);
        case Kind::attribute: {
            PyObject* const now = PyObject_GenericGetAttr(row.holder.ptr(), row.key.ptr());
            Py_XDECREF(now);  // compared alone
            return now == row.value.ptr();
        }
        default: return has_value(row, at(row), tensors);
    }
}

/// Compares a row of kind same, content or tensor.
bool Guards::has_value(const Row& row, py::object now, std::vector<py::object>& tensors) {
    if (!now) return false;
    if (row.kind == Kind::tensor) {
        if (!tensor_in(now.ptr())) return false;
        tensors.push_back(std::move(now));
        return true;
    }
    if (now.ptr() != row.value.ptr() && !equal(now.ptr(), row.value.ptr())) return false;
    return !row.content || row.content->is_that_of(now.ptr());
}

bool Guards::has_keys(const Row& row) {
    PyObject* const holder = row.holder.ptr();
    PyObject* const then = row.value.ptr();
    const Py_ssize_t count = PyTuple_GET_SIZE(then);
    const auto is_next = [&](Py_ssize_t i, PyObject* key) {
        if (i >= count) return false;
        PyObject* const known = PyTuple_GET_ITEM(then, i);
        return key == known || equal(key, known);
    };
    Py_ssize_t i = 0;
    if (PyDict_CheckExact(holder)) {
        PyObject *key = nullptr, *item = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(holder, &at, &key, &item); ++i)
            if (!is_next(i, py::reinterpret_borrow<py::object>(key).ptr())) return false;
        return i == count;
    }
    const auto all = py::reinterpret_steal<py::object>(PyObject_GetIter(holder));
    if (!all) return false;
    while (const auto key = py::reinterpret_steal<py::object>(PyIter_Next(all.ptr())))
        if (!is_next(i++, key.ptr())) return false;
    return !PyErr_Occurred() && i == count;
}

bool Guards::is_object(const Row& row) {
    PyObject* const holder = row.holder.ptr();
    if (reinterpret_cast<PyObject*>(Py_TYPE(holder)) != row.key.ptr()) return false;
    if (row.value.is_none()) return true;
    if (Py_TYPE(holder)->tp_dictoffset) {
        PyObject** const own = _PyObject_GetDictPtr(holder);
        return own && *own == row.value.ptr();
    }
    static PyObject* const name = PyUnicode_InternFromString("__dict__");
    return py::reinterpret_steal<py::object>(PyObject_GetAttr(holder, name)).is(row.value);
}

namespace {

py::object namespace_of(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
    return py::reinterpret_steal<py::object>(PyType_GetDict(type));
#else
    return py::reinterpret_borrow<py::object>(type->tp_dict);
#endif
}

}  // namespace

bool Guards::is_class(const Row& row) {
    auto* const type = reinterpret_cast<PyTypeObject*>(row.holder.ptr());
    return type->tp_mro == row.value.ptr() && PyObject_Size(namespace_of(type).ptr()) == row.length;
}

bool Guards::is_function(const Row& row) {
    PyObject* const holder = row.holder.ptr();
    const auto is_same = [](PyObject* now, PyObject* then) { return now == (then == Py_None ? nullptr : then); };
    return PyFunction_GET_CODE(holder) == row.key.ptr() &&
           is_same(PyFunction_GET_DEFAULTS(holder), PyTuple_GET_ITEM(row.value.ptr(), 0)) &&
           is_same(PyFunction_GET_KW_DEFAULTS(holder), PyTuple_GET_ITEM(row.value.ptr(), 1));
}

/// Empty: nothing is there.
py::object Guards::at(const Row& row) {
    PyObject* const holder = row.holder.ptr();
    PyObject* const key = row.key.ptr();
    const auto borrowed = [](PyObject* found) { return py::reinterpret_borrow<py::object>(found); };
    const auto item_of = [&](PyObject* dict) {
        PyObject* const item = PyDict_GetItemWithError(dict, key);
        if (!item) PyErr_Clear();
        return borrowed(item);
    };
    if (PyDict_Check(holder)) return item_of(holder);
    if (PyCell_Check(holder)) return borrowed(PyCell_GET(holder));
    if (PyType_Check(holder)) return item_of(namespace_of(reinterpret_cast<PyTypeObject*>(holder)).ptr());
    PyObject* found = nullptr;
    if (PyContextVar_CheckExact(holder)) {
        if (PyContextVar_Get(holder, nullptr, &found) < 0) PyErr_Clear();
        return py::reinterpret_steal<py::object>(found);
    }
    if (PyLong_Check(key)) {
        const Py_ssize_t i = PyLong_AsSsize_t(key);
        if (i == -1 && PyErr_Occurred()) return PyErr_Clear(), py::object();
        const bool list = PyList_Check(holder);
        if (list || PyTuple_Check(holder)) {
            if (i < 0 || i >= PySequence_Fast_GET_SIZE(holder)) return {};
            return borrowed(list ? PyList_GET_ITEM(holder, i) : PyTuple_GET_ITEM(holder, i));
        }
        found = PySequence_GetItem(holder, i);  // of a deque
    } else if (PyUnicode_Check(key)) {
        found = PyObject_GenericGetAttr(holder, key);  // which no code of the class answers
    }
    if (!found) PyErr_Clear();
    return py::reinterpret_steal<py::object>(found);
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

void Guards::find_items(size_t i) {
    Row& row = rows_[i];
    row.items = 0;
    if (row.kind != Kind::keys || !PyDict_CheckExact(row.holder.ptr())) return;
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(row.value.ptr()));
    if (i + count >= rows_.size()) return;
    for (size_t n = 0; n < count; ++n) {
        const Row& item = rows_[i + 1 + n];
        const bool valued = item.kind == Kind::same || item.kind == Kind::content || item.kind == Kind::tensor;
        PyObject* const key = PyTuple_GET_ITEM(row.value.ptr(), static_cast<Py_ssize_t>(n));
        if (!valued || !item.holder.is(row.holder) || item.key.ptr() != key) return;
    }
    row.items = count;
}

void Guards::sees(const std::vector<size_t>& first) {
    for (size_t i = 0; i < first.size(); ++i)
        if (first[i] > i || first[first[i]] != first[i])
            user_error(ErrorKind::Usage, "[_Guards] tensor {} is said to be tensor {}, which comes first nowhere", i,
                       first[i]);
    for (size_t i = 0; i < rows_.size(); ++i) find_items(i);
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
