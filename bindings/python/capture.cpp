// What strata/_jit.py captures functions with: what they do to tensors, and how a call is known for one that does it again.
#include "strata/ops/capture.h"

#include <optional>
#include <span>
#include <utility>

#include "collected_p.h"
#include "derivatives_p.h"
#include "front_end_p.h"
#include "guards_p.h"
#include "strata/ops/gradients.h"
#include "strata/runtime/realize.h"
#include "tensor_object_p.h"

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

/// Containers, plain values and other objects that a call was given, and where tensors were among them.
class Given {
  public:
    explicit Given(PyObject* value) : value_(py::reinterpret_borrow<py::object>(value)) {
        const auto take = [&](PyObject* part) { parts_.emplace_back(part); };
        if (tensor_in(value)) {
            kind_ = Kind::tensor;
        } else if (PyList_Check(value) || PyTuple_Check(value)) {
            kind_ = PyList_Check(value) ? Kind::list : Kind::tuple;
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

    /// Whether it was given again, with the tensors that stand there now; false where that is not seen at once.
    bool is_again(PyObject* now, std::vector<py::object>& tensors) const {
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
    /// The same of the items of a list, a tuple or a call,
    bool are_again(std::span<PyObject* const> now, std::vector<py::object>& tensors) const {
        if (now.size() != parts_.size()) return false;
        for (size_t i = 0; i < now.size(); ++i)
            if (!parts_[i].is_again(now[i], tensors)) return false;
        return true;
    }
    /// and of arguments with these names, of which there may be none.
    bool are_again(PyObject* names, PyObject* const* now, std::vector<py::object>& tensors) const {
        const size_t count = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
        if (count != parts_.size()) return false;
        for (size_t i = 0; i < count; ++i)
            if (!is_item_again(i, PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)), now[i], tensors)) return false;
        return true;
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(value_.ptr());
        const int stop = traverse_all(keys_, visit, arg);
        return stop ? stop : traverse_all(parts_, visit, arg);
    }

  private:
    enum class Kind : uint8_t { object, tensor, list, tuple, dict };

    bool are_items_again(PyObject* now, std::vector<py::object>& tensors) const {
        if (PyDict_GET_SIZE(now) != static_cast<Py_ssize_t>(parts_.size())) return false;
        PyObject *key = nullptr, *item = nullptr;
        size_t i = 0;
        for (Py_ssize_t at = 0; PyDict_Next(now, &at, &key, &item); ++i)
            if (!is_item_again(i, key, item, tensors)) return false;
        return true;
    }
    bool is_item_again(size_t i, PyObject* key, PyObject* now, std::vector<py::object>& tensors) const {
        const bool same_key = key == keys_[i].ptr() || Guards::equal(key, keys_[i].ptr());
        return same_key && parts_[i].is_again(now, tensors);
    }

    Kind kind_ = Kind::object;
    py::object value_;  ///< of a container its type
    std::vector<py::object> keys_;
    std::vector<Given> parts_;
};

/// What a captured function gives back, of its tensors: as _described of strata/_jit.py says it.
class GivenBack {
  public:
    explicit GivenBack(const py::tuple& described) : type_(described[0]) {
        const py::object value = described[1];
        if (py::isinstance<py::str>(type_)) {
            kind_ = type_.equal(py::str("tensor")) ? Kind::tensor : Kind::plain;
            if (kind_ == Kind::tensor) index_ = value.cast<size_t>();
            type_ = value;
            return;
        }
        kind_ = type_.is(py::type::of(py::dict())) ? Kind::dict : Kind::items;
        for (const py::handle item : value) {
            const auto part = py::reinterpret_borrow<py::tuple>(item);
            if (kind_ == Kind::dict) keys_.emplace_back(part[0]);
            parts_.emplace_back(kind_ == Kind::dict ? py::tuple(part[1]) : part);
        }
        by_fields_ = py::hasattr(type_, "_fields");
    }

    py::object of(std::span<const py::object> results) const {
        if (kind_ == Kind::tensor) return results[index_];
        if (kind_ == Kind::plain) return type_;
        if (kind_ == Kind::dict) {
            py::dict all;
            for (size_t i = 0; i < parts_.size(); ++i) all[keys_[i]] = parts_[i].of(results);
            return all;
        }
        py::tuple items(parts_.size());
        for (size_t i = 0; i < parts_.size(); ++i) items[i] = parts_[i].of(results);
        if (type_.is(py::type::of(items))) return items;
        return by_fields_ ? type_(*items) : type_(items);
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(type_.ptr());
        const int stop = traverse_all(keys_, visit, arg);
        return stop ? stop : traverse_all(parts_, visit, arg);
    }

  private:
    enum class Kind : uint8_t { tensor, plain, dict, items };
    Kind kind_;
    py::object type_;  ///< or the plain value
    size_t index_ = 0;
    bool by_fields_ = false;
    std::vector<py::object> keys_;
    std::vector<GivenBack> parts_;
};

/// What a captured call was given, the guards of all else, and what it leaves behind.
struct CapturedCall {
    struct Place {
        py::object holder, key;
        size_t result;

        int traverse(visitproc visit, void* arg) const {
            Py_VISIT(holder.ptr());
            Py_VISIT(key.ptr());
            return 0;
        }
    };
    py::object guards_object;
    const Guards* guards;
    Given args, named;
    GivenBack value;
    std::vector<std::pair<size_t, size_t>> same;  ///< results that are inputs
    std::vector<Place> places;

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(guards_object.ptr());
        for (const Given* given : {&args, &named})
            if (const int stop = given->traverse(visit, arg)) return stop;
        const int stop = value.traverse(visit, arg);
        return stop ? stop : traverse_all(places, visit, arg);
    }
};

/// A capture while Python traces a function, and after it a call to be made again.
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
    void finish(const std::vector<Tensor*>& results, const As<"_Guards">& guards, const py::tuple& args,
                const py::dict& named, const py::tuple& value, decltype(CapturedCall::same) same,
                const std::vector<std::tuple<py::object, py::object, size_t>>& places) {
        computing([&] { capture_->finish(results); });
        call_.emplace(CapturedCall{guards,
                                   &guards.cast<const Guards&>(),
                                   Given(args.ptr()),
                                   Given(named.ptr()),
                                   GivenBack(value),
                                   std::move(same),
                                   {}});
        for (const auto& [holder, key, result] : places) call_->places.push_back({holder, key, result});
    }
    std::optional<std::string> difference(const Captured& other) const { return capture_->difference(*other.capture_); }
    std::optional<std::string> mismatch(const std::vector<Tensor*>& inputs) const {
        return computing([&] { return capture_->mismatch(inputs); });
    }
    size_t actions() const { return capture_->actions(); }
    size_t own_bytes() const { return capture_->own_bytes(); }

    /// Empty where it is not seen at once that the call is this one. `names`: of the last arguments; null: they have none.
    py::object call_again(std::span<PyObject* const> args, PyObject* names) const {
        if (!call_ || ops::Capture::active() || functions_differentiated > 0) return {};
        TakenRoom room(*this);
        const size_t unnamed = args.size() - (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
        if (!call_->args.are_again(args.first(unnamed), room->inputs) ||
            !call_->named.are_again(names, args.data() + unnamed, room->inputs))
            return {};
        const ops::WithoutPast with_past(false);
        if (call_->guards->met(room->inputs) != Guards::kMet) return {};
        room->find_tensors();
        std::optional<std::vector<Tensor>> results = replay_if_met(room->tensors);
        return results ? given_back(*results, *room) : py::object();
    }
    py::object replay(const std::vector<py::object>& inputs) const {
        if (!call_) user_error(ErrorKind::Usage, "[jit] the capture is not finished");
        TakenRoom room(*this);
        room->inputs = inputs;
        room->find_tensors();
        std::vector<Tensor> results = replay_of(room->tensors);
        return given_back(results, *room);
    }

    int traverse(visitproc visit, void* arg) const { return call_ ? call_->traverse(visit, arg) : 0; }
    void clear() {
        const std::optional<CapturedCall> gone = std::move(call_);
        call_.reset();
    }

  private:
    /// What a call needs; kept for the next one.
    struct Room {
        std::vector<py::object> inputs, results;
        std::vector<Tensor*> tensors;

        void find_tensors() {
            for (const py::object& t : inputs) tensors.push_back(tensor_in(t.ptr()));
        }
        void clear() { inputs.clear(), results.clear(), tensors.clear(); }
    };
    /// A call within it, or of another thread, makes its own.
    class TakenRoom {
      public:
        explicit TakenRoom(const Captured& of) : of_(of), room_(std::move(of.room_)) {
            if (!room_) room_ = std::make_unique<Room>();
        }
        ~TakenRoom() {
            room_->clear();
            of_.room_ = std::move(room_);
        }
        TakenRoom(const TakenRoom&) = delete;
        Room& operator*() const { return *room_; }
        Room* operator->() const { return room_.get(); }

      private:
        const Captured& of_;
        std::unique_ptr<Room> room_;
    };

    std::vector<Tensor> replay_of(const std::vector<Tensor*>& inputs) const {
        const std::vector<std::vector<uint8_t>> fed = capture_->feed();
        return computing([&] { return capture_->replay(inputs, fed); });
    }
    /// None: the capture is of something else.
    std::optional<std::vector<Tensor>> replay_if_met(const std::vector<Tensor*>& inputs) const {
        using Results = std::optional<std::vector<Tensor>>;
        if (capture_->is_fed()) return mismatch(inputs) ? Results() : replay_of(inputs);
        std::shared_ptr<const Settings> now = settings_of_context();
        const bool known = now && now == fitting_;
        Results results = computing_with(now, [&] {
            const bool met = known ? capture_->fits(inputs) : !capture_->mismatch(inputs);
            return met ? capture_->replay(inputs, {}) : Results();
        });
        if (results && !known) fitting_ = std::move(now);
        return results;
    }

    py::object given_back(std::vector<Tensor>& results, Room& room) const {
        for (Tensor& t : results) room.results.push_back(tensor_object(std::move(t)));
        for (const auto& [result, input] : call_->same) room.results[result] = room.inputs[input];
        for (const auto& [holder, key, result] : call_->places) {
            PyObject* const value = room.results[result].ptr();
            const int failed = PyCell_Check(holder.ptr()) ? PyCell_Set(holder.ptr(), value)
                               : PyDict_Check(holder.ptr()) || PyList_Check(holder.ptr())
                                   ? PyObject_SetItem(holder.ptr(), key.ptr(), value)
                                   : PyObject_SetAttr(holder.ptr(), key.ptr(), value);
            if (failed) throw py::error_already_set();
        }
        return call_->value.of(room.results);
    }

    std::unique_ptr<ops::Capture> capture_;
    std::optional<ops::Capture::Scope> scope_;
    std::optional<CapturedCall> call_;
    mutable std::unique_ptr<Room> room_;
    mutable std::shared_ptr<const Settings> fitting_;  ///< of the context that met it last, which nobody changes
};

/// What strata.jit is called by: what was captured last, where it is this call again, else its method _otherwise.
class Calls {
  public:
    void set_last(py::object captured) {
        made_ = captured.is_none() ? nullptr : captured.cast<const Captured*>();
        std::swap(last_, captured);  // which may run Python as it goes
    }

    static void take_slots(PyHeapTypeObject* heap_type) {
        PyTypeObject& type = heap_type->ht_type;
        type.tp_vectorcall_offset = type.tp_basicsize;
        type.tp_basicsize += static_cast<Py_ssize_t>(sizeof(vectorcallfunc));
        type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        type.tp_call = &PyVectorcall_Call;
        type.tp_new = &made;
        let_collect<Calls>(heap_type);
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(last_.ptr());
        return 0;
    }
    void clear() { set_last(py::none()); }

  private:
    static PyObject* made(PyTypeObject* type, PyObject*, PyObject*) {
        PyObject* const self = py::detail::make_new_instance(type);
        if (!self) return nullptr;
        char* const slot = reinterpret_cast<char*>(self) + type->tp_vectorcall_offset;
        *reinterpret_cast<vectorcallfunc*>(slot) = &called;
        // Before 3.12 a class of Python's does not have it from its base.
        if (type->tp_call == &PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        return self;
    }
    static PyObject* called(PyObject* self, PyObject* const* args, size_t flagged, PyObject* names) {
        const size_t unnamed = static_cast<size_t>(PyVectorcall_NARGS(flagged));
        const size_t count = unnamed + (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
        try {
            if (py::object given = of(self).call({args, count}, names)) return given.release().ptr();
        } catch (...) {
            static PyObject* const rethrow =
                py::cpp_function([] { throw; }).release().ptr();  // as pybind11 tells Python
            return PyObject_CallNoArgs(rethrow);
        }
        static PyObject* const otherwise = PyUnicode_InternFromString("_otherwise");
        const auto method = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, otherwise));
        return method ? PyObject_Vectorcall(method.ptr(), args, unnamed, names) : nullptr;
    }
    static const Calls& of(PyObject* self) {
        const Calls* const found = value_in<Calls>(self);
        return found ? *found : py::handle(self).cast<const Calls&>();
    }
    py::object call(std::span<PyObject* const> args, PyObject* names) const {
        if (!made_) return {};
        const py::object held = last_;  // another thread may set another one meanwhile
        return made_->call_again(args, names);
    }

    py::object last_ = py::none();
    const Captured* made_ = nullptr;
};

}  // namespace

void bind_capture(py::module_& m) {
    m.def("_fed", &fed_numbers, py::arg("numbers"), py::arg("dtype") = "float32", py::arg("device") = "",
          "A tensor of the numbers that a call gives now, and before each replay of a captured function.");
    m.def(
        "_any_sizes", [](bool any) { return std::exchange(runtime::any_sizes, any); }, py::arg("any"),
        "From now on this thread makes kernels for other sizes too, or for their own alone; what was so before.");
    m.def("_capturing", [] { return ops::Capture::active() != nullptr; }, "Whether a function is traced here.");
    py::class_<Guards>(m, "_Guards", "What a captured function was seen to depend on, and whether it is so now.",
                       py::custom_type_setup(&let_collect<Guards>))
        .def(py::init<>())
        .def("add", &Guards::add, py::arg("kind"), py::arg("place"),
             "kind: same, content, tensor or length; place: (holder, key, value), of a length (holder,).")
        .def("sees", &Guards::sees, py::arg("first"))
        .def(
            "met", [](const Guards& g, std::vector<py::object> tensors) -> As<"list[Tensor] | int"> {
                const int64_t row = g.met(tensors);
                return row == Guards::kMet ? py::cast(tensors) : py::cast(row);
            },
            py::arg("tensors"));
    py::class_<Captured>(m, "_Capture", "What a function does to tensors, to be done again.",
                         py::custom_type_setup(&let_collect<Captured>))
        .def(py::init<const std::vector<Tensor*>&>(), py::arg("inputs"))
        .def("enter", &Captured::enter)
        .def("exit", &Captured::exit)
        .def("finish", &Captured::finish, py::arg("results"), py::arg("guards"), py::arg("args"), py::arg("named"),
             py::arg("value"), py::arg("same"), py::arg("places"))
        .def("difference", &Captured::difference, py::arg("other"))
        .def("mismatch", &Captured::mismatch, py::arg("inputs"))
        .def("replay", &Captured::replay, py::arg("inputs"))
        .def_property_readonly("launches", &Captured::actions, "Kernels and copies of a replay.")
        .def_property_readonly("own_bytes", &Captured::own_bytes, "Device memory that it keeps from call to call.");
    py::class_<Calls>(m, "_Calls", "Calls what was captured last, where it is the same call.",
                      py::custom_type_setup(&Calls::take_slots))
        .def(py::init<>())
        .def("_set_last", &Calls::set_last, py::arg("captured"), "None: every call goes to _otherwise.");
}

}  // namespace strata::python
