// What strata/_jit.py captures functions with: their tensors, and what else they were seen to depend on.
#include "strata/ops/capture.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "front_end_p.h"
#include "methods_p.h"
#include "strata/runtime/realize.h"

namespace strata::python {
namespace {

std::vector<uint8_t> bytes_of(const std::vector<double>& numbers, DType type) {
    std::vector<uint8_t> out;
    for (double number : numbers) {
        const auto narrow = static_cast<float>(number);
        const bool wide = type == dtypes::float64;
        const auto* bytes =
            wide ? reinterpret_cast<const uint8_t*>(&number) : reinterpret_cast<const uint8_t*>(&narrow);
        out.insert(out.end(), bytes, bytes + type.bytes());
    }
    return out;
}

Tensor fed_numbers(const As<"Callable[[], Sequence[float]]">& numbers, DType type, const std::string& device) {
    if (type != dtypes::float32 && type != dtypes::float64)
        user_error(ErrorKind::DType, "[fed] float32 or float64, not {}", type.name());
    const auto count = std::make_shared<int64_t>(0);
    auto feed = [call = shared(numbers), type, count] {
        const auto given = (*call)().cast<std::vector<double>>();
        if (*count && *count != static_cast<int64_t>(given.size()))
            user_error(ErrorKind::Usage, "[fed] {} numbers, and {} before", given.size(), *count);
        *count = static_cast<int64_t>(given.size());
        return bytes_of(given, type);
    };
    const std::vector<uint8_t> first = feed();
    Tensor t = Tensor::empty({*count}, type, device);
    if (*count) ops::upload(t, first.data(), feed);
    return t;
}

/// The memory of an object that shows it, as it was.
class Content {
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

/// Places that a function looks at, with what was there.
class Guards {
  public:
    void add(const std::string& kind, const As<"tuple[Any, ...]">& place) {
        const auto at = py::reinterpret_borrow<py::tuple>(place);
        if (kind == "length")
            rows_.push_back({Kind::length, at[0], {}, {}, PyObject_Size(py::object(at[0]).ptr())});
        else
            rows_.push_back({kind == "tensor" ? Kind::tensor : Kind::same, at[0], at[1], at[2]});
        if (kind == "content") rows_.back().content.emplace(rows_.back().value.ptr());
    }
    /// Which of all tensors, those of a call and then those of the places, are one.
    void sees(const std::vector<size_t>& first) { first_ = first; }

    /// The tensors, each once; or the number of the first row that does not hold, -1 where other tensors are one.
    py::object met(const py::list& of_call) const {
        std::vector<PyObject*> all;
        for (py::handle t : of_call) all.push_back(t.ptr());
        for (size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            if (row.kind == Kind::length) {
                if (PyObject_Size(row.holder.ptr()) != row.length) return broken(static_cast<int64_t>(i));
                continue;
            }
            PyObject* now = at(row);
            if (!now) return broken(static_cast<int64_t>(i));
            if (row.kind == Kind::tensor) {
                if (!py::isinstance<Tensor>(now)) return broken(static_cast<int64_t>(i));
                all.push_back(now);
            } else if (now != row.value.ptr() && !equal(now, row.value.ptr())) {
                return broken(static_cast<int64_t>(i));
            } else if (row.content && !row.content->is_that_of(now)) {
                return broken(static_cast<int64_t>(i));
            }
        }
        return distinct(all);
    }

  private:
    enum class Kind : uint8_t { same, tensor, length };
    struct Row {
        Kind kind;
        py::object holder, key, value;
        Py_ssize_t length = 0;
        std::optional<Content> content = {};
    };
    static py::object broken(int64_t row) { return py::int_(row); }

    /// Borrowed; null: nothing is there.
    static PyObject* at(const Row& row) {
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
    static bool equal(PyObject* now, PyObject* then) {
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
    py::object distinct(const std::vector<PyObject*>& all) const {
        if (all.size() != first_.size()) return broken(-1);
        std::unordered_map<PyObject*, size_t> seen;
        seen.reserve(all.size());
        py::list out;
        for (size_t i = 0; i < all.size(); ++i) {
            const auto [known, first] = seen.try_emplace(all[i], i);
            if (known->second != first_[i]) return broken(-1);
            if (first) out.append(py::handle(all[i]));
        }
        return out;
    }

    std::vector<Row> rows_;
    std::vector<size_t> first_;
};

/// A capture while Python traces a function, and after it.
class Captured {
  public:
    explicit Captured(const std::vector<Tensor*>& inputs)
        : capture_(computing([&] { return std::make_unique<ops::Capture>(inputs); })) {}
    void enter() {
        scope_.emplace(*capture_);
        if (computing([] { return ops::Capture::active() != nullptr; })) return;
        scope_.reset();
        user_error(ErrorKind::Unsupported, "[jit] the stack of this thread is too small: call from another one");
    }
    void exit() { scope_.reset(); }
    void finish(const std::vector<Tensor*>& results) {
        computing([&] { capture_->finish(results); });
    }
    std::optional<std::string> difference(const Captured& other) const { return capture_->difference(*other.capture_); }
    std::optional<std::string> mismatch(const std::vector<Tensor*>& inputs) const {
        return computing([&] { return capture_->mismatch(inputs); });
    }
    std::vector<Tensor> replay(const std::vector<Tensor*>& inputs) const {
        const std::vector<std::vector<uint8_t>> fed = capture_->feed();
        return computing([&] { return capture_->replay(inputs, fed); });
    }
    size_t actions() const { return capture_->actions(); }
    size_t own_bytes() const { return capture_->own_bytes(); }

  private:
    std::unique_ptr<ops::Capture> capture_;
    std::optional<ops::Capture::Scope> scope_;
};

}  // namespace

void bind_capture(py::module_& m) {
    m.def("_fed", &fed_numbers, py::arg("numbers"), py::arg("dtype") = "float32", py::arg("device") = "",
          "A tensor of the numbers that a call gives now, and before each replay of a captured function.");
    m.def(
        "_any_sizes", [](bool any) { return std::exchange(runtime::any_sizes, any); }, py::arg("any"),
        "From now on this thread makes kernels for other sizes too, or for their own alone; what was so before.");
    m.def("_capturing", [] { return ops::Capture::active() != nullptr; }, "Whether a function is traced here.");
    py::class_<Guards>(m, "_Guards", "What a captured function was seen to depend on, and whether it is so now.")
        .def(py::init<>())
        .def("add", &Guards::add, py::arg("kind"), py::arg("place"),
             "kind: same, content, tensor or length; place: (holder, key, value), of a length (holder,).")
        .def("sees", &Guards::sees, py::arg("first"))
        .def(
            "met", [](const Guards& g, const py::list& t) -> As<"list[Tensor] | int"> { return g.met(t); },
            py::arg("tensors"));
    py::class_<Captured>(m, "_Capture", "What a function does to tensors, to be done again.")
        .def(py::init<const std::vector<Tensor*>&>(), py::arg("inputs"))
        .def("enter", &Captured::enter)
        .def("exit", &Captured::exit)
        .def("finish", &Captured::finish, py::arg("results"))
        .def("difference", &Captured::difference, py::arg("other"))
        .def("mismatch", &Captured::mismatch, py::arg("inputs"))
        .def("replay", &Captured::replay, py::arg("inputs"))
        .def_property_readonly("launches", &Captured::actions, "Kernels and copies of a replay.")
        .def_property_readonly("own_bytes", &Captured::own_bytes, "Device memory that it keeps from call to call.");
}

}  // namespace strata::python
