// The part of strata/_jit.py that captures functions: their operations on tensors, and how a call is known for one that
// does the same again.
#include "strata/ops/capture.h"

#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "derivatives_p.h"
#include "front_end_p.h"
#include "given_back_p.h"
#include "given_p.h"
#include "guards_p.h"
#include "strata/ops/gradients.h"
#include "strata/ops/tracing.h"
#include "strata/runtime/realize.h"
#include "tensor_object_p.h"
#include "vectorcall_p.h"

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

/// A captured call: its arguments, the guards of all else, and its results.
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

/// holder[key] becomes the value, as the body of the function would write it.
void put_in_place(PyObject* holder, PyObject* key, PyObject* value) {
    int failed = 0;
    if (PyCell_Check(holder)) {
        failed = PyCell_Set(holder, value);
    } else if (PyContextVar_CheckExact(holder)) {
        PyObject* const token = PyContextVar_Set(holder, value);
        failed = token ? 0 : -1;
        Py_XDECREF(token);
    } else if (PyDict_Check(holder) || PyLong_Check(key)) {
        failed = PyObject_SetItem(holder, key, value);
    } else {
        failed = PyObject_SetAttr(holder, key, value);
    }
    if (failed) throw py::error_already_set();
}

[[noreturn]] void out_of_order(std::string_view what) {
    user_error(ErrorKind::Usage, "[_Capture] {}: strata.jit calls it in its order", what);
}

/// The tensors of Python's objects, each of which is one.
std::vector<Tensor*> inputs_of(const std::vector<py::object>& objects) {
    std::vector<Tensor*> tensors;
    for (const py::object& o : objects) {
        tensors.push_back(tensor_in(o.ptr()));
        if (!tensors.back()) out_of_order(fmt::format("{} is no tensor", shown(o)));
    }
    return tensors;
}

/// A capture while Python traces a function, and after it a call to be made again.
class Captured {
  public:
    using Objects = std::vector<py::object>;

    explicit Captured(Objects inputs) : inputs_(std::move(inputs)) {
        const std::vector<Tensor*> tensors = inputs_of(inputs_);
        count_ = tensors.size();
        capture_ = computing([&] { return std::make_unique<ops::Capture>(tensors); });
    }
    ~Captured() {
        if (scope_ && thread_ != std::this_thread::get_id()) {
            (void)scope_.release();  // its thread goes on to point at both
            (void)capture_.release();
        }
    }
    Captured(const Captured&) = delete;

    void enter() {
        if (scope_ || finished_) out_of_order("entered twice");
        scope_ = std::make_unique<ops::Capture::Scope>(*capture_);
        thread_ = std::this_thread::get_id();
        if (computing([] { return ops::Capture::active() != nullptr; })) return;
        scope_.reset();
        user_error(ErrorKind::Unsupported, "[jit] the stack of this thread is too small: call from another one");
    }
    void exit() {
        if (scope_ && thread_ != std::this_thread::get_id()) out_of_order("left on another thread");
        scope_.reset();
    }
    void finish(const Objects& results, const As<"_Guards">& guards, const py::tuple& args, const py::dict& named,
                const py::tuple& value, decltype(CapturedCall::same) same,
                const std::vector<std::tuple<py::object, py::object, size_t>>& places) {
        if (!scope_ || ops::Capture::active() != capture_.get() || std::exchange(finished_, true))
            out_of_order("finished outside of the call, or twice");
        const std::vector<Tensor*> tensors = inputs_of(results);
        GivenBack back(value, tensors.size());
        for (const auto& [result, input] : same)
            if (result >= tensors.size() || input >= count_) out_of_order("a result that is no input");
        for (const auto& [holder, key, result] : places)
            if (result >= tensors.size()) out_of_order("a place without a result");
        const auto& checked = guards.cast<const Guards&>();
        computing([&] { capture_->finish(tensors); });
        call_.emplace(CapturedCall{
            guards, &checked, Given(args.ptr()), Given(named.ptr()), std::move(back), std::move(same), {}});
        for (const auto& [holder, key, result] : places) call_->places.push_back({holder, key, result});
        inputs_.clear();
    }
    std::optional<std::string> difference(const Captured& other) const { return whole().difference(other.whole()); }
    std::optional<std::string> mismatch(const Objects& inputs) const {
        const std::vector<Tensor*> tensors = inputs_of(inputs);
        return computing([&] { return mismatch_of(tensors); });
    }
    size_t actions() const { return whole().actions(); }
    size_t own_bytes() const { return whole().own_bytes(); }

    /// Empty where it is not seen at once that the call is this one. `names`: of the last arguments; null: they have
    /// none.
    py::object call_again(std::span<PyObject* const> args, PyObject* names) const {
        if (!call_ || ops::Capture::active() || ops::Tracing::active() || functions_differentiated > 0) return {};
        TakenRoom room(*this);
        const size_t unnamed = args.size() - (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
        if (!call_->args.are_again(args.first(unnamed), room->inputs) ||
            !call_->named.are_again(names, args.data() + unnamed, room->inputs))
            return {};
        const ops::NoGrad with_history(false);
        if (call_->guards->met(room->inputs) != Guards::kMet) return {};
        room->find_tensors();
        std::optional<std::vector<Tensor>> results = replay_if_met(room->tensors);
        return results ? given_back(*results, *room, args, names) : py::object();
    }
    /// `args` and `named`: what the call was given, of which the inputs are the tensors.
    py::object replay(const Objects& inputs, const py::tuple& args, const py::dict& named) const {
        (void)whole();
        TakenRoom room(*this);
        room->inputs = inputs;
        room->tensors = inputs_of(inputs);
        if (const auto why = computing([&] { return mismatch_of(room->tensors); })) out_of_order(*why);
        std::vector<Tensor> results = replay_of(room->tensors);
        std::vector<PyObject*> all;
        for (const py::handle value : args) all.push_back(value.ptr());
        py::tuple names(named.size());
        size_t i = 0;
        for (const auto [name, value] : named) {
            names[i++] = name;
            all.push_back(value.ptr());
        }
        return given_back(results, *room, all, names.ptr());
    }

    int traverse(visitproc visit, void* arg) const {
        const int stop = traverse_all(inputs_, visit, arg);
        return stop || !call_ ? stop : call_->traverse(visit, arg);
    }
    void clear() {
        const std::optional<CapturedCall> gone = std::move(call_);
        call_.reset();
        const Objects inputs = std::move(inputs_);
        inputs_.clear();
    }

  private:
    /// The working memory of a call; kept for the next one.
    struct Room {
        Objects inputs, results, made;
        std::vector<Tensor*> tensors;

        void find_tensors() {
            for (const py::object& t : inputs) tensors.push_back(tensor_in(t.ptr()));
        }
        void clear() { inputs.clear(), results.clear(), made.clear(), tensors.clear(); }
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

    const ops::Capture& whole() const {
        if (!call_) out_of_order("the capture is not finished");
        return *capture_;
    }
    std::optional<std::string> mismatch_of(const std::vector<Tensor*>& inputs) const {
        if (inputs.size() != count_) return fmt::format("{} tensors instead of {}", inputs.size(), count_);
        return whole().mismatch(inputs);
    }
    std::vector<Tensor> replay_of(const std::vector<Tensor*>& inputs) const {
        const std::vector<std::vector<uint8_t>> fed = capture_->feed();
        return computing([&] { return capture_->replay(inputs, fed); });
    }
    /// None: the capture is of something else.
    std::optional<std::vector<Tensor>> replay_if_met(const std::vector<Tensor*>& inputs) const {
        using Results = std::optional<std::vector<Tensor>>;
        if (inputs.size() != count_) return {};
        if (capture_->is_fed()) {
            const auto other = computing([&] { return mismatch_of(inputs); });
            return other ? Results() : replay_of(inputs);
        }
        std::shared_ptr<const Settings> now = settings_of_context();
        const bool known = now && now == fitting_;
        Results results = computing_with(now, [&] {
            const bool met = known ? capture_->fits(inputs) : !capture_->mismatch(inputs);
            return met ? capture_->replay(inputs, {}) : Results();
        });
        if (results && !known) fitting_ = std::move(now);
        return results;
    }

    py::object given_back(std::vector<Tensor>& results, Room& room, std::span<PyObject* const> args,
                          PyObject* names) const {
        for (Tensor& t : results) room.results.push_back(tensor_object(std::move(t)));
        for (const auto& [result, input] : call_->same) room.results[result] = room.inputs[input];
        for (const auto& [holder, key, result] : call_->places)
            put_in_place(holder.ptr(), key.ptr(), room.results[result].ptr());
        return call_->value.of({room.results, args, names}, room.made);
    }

    Objects inputs_;  ///< until it is finished
    size_t count_ = 0;
    std::unique_ptr<ops::Capture> capture_;
    std::unique_ptr<ops::Capture::Scope> scope_;
    std::thread::id thread_;  ///< of the scope
    bool finished_ = false;
    std::optional<CapturedCall> call_;
    mutable std::unique_ptr<Room> room_;
    mutable std::shared_ptr<const Settings> fitting_;  ///< of the context that met it last, which nobody changes
};

/// The callable of strata.jit: the last captured call, where it is this call again, else its method _otherwise.
class Calls {
  public:
    void set_last(py::object captured) {
        made_ = captured.is_none() ? nullptr : captured.cast<const Captured*>();
        std::swap(last_, captured);  // which may run Python as it goes
    }

    static void take_slots(PyHeapTypeObject* type) {
        Vectorcall<&Calls::call>::take_slots(type, "_otherwise");
        let_collect<Calls>(type);
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(last_.ptr());
        return 0;
    }
    void clear() { set_last(py::none()); }

  private:
    static py::object call(PyObject* self, const CallArguments& given) {
        const Calls& calls = value_of<Calls>(self);
        if (!calls.made_) return {};
        const py::object held = calls.last_;  // another thread may set another one meanwhile
        return calls.made_->call_again(given.all, given.names);
    }

    py::object last_ = py::none();
    const Captured* made_ = nullptr;
};

}  // namespace

void bind_capture(py::module_& m) {
    m.def("_fed", &fed_numbers, py::arg("numbers"), py::arg("dtype") = "float32", py::arg("device") = "",
          "A tensor of the numbers that a call gives now, and before each replay of a captured function.");
    m.def("_any_sizes", &runtime::set_any_sizes, py::arg("any"),
          "From now on this thread makes kernels for other sizes too, or for their own alone; what was so before.");
    m.def("_capturing", [] { return ops::Capture::active() != nullptr; }, "Whether a function is traced here.");
    py::class_<Guards>(m, "_Guards",
                       "The dependencies that a captured function was seen to have, and whether they are the same now.",
                       py::custom_type_setup(&let_collect<Guards>))
        .def(py::init<>())
        .def("add", &Guards::add, py::arg("kind"), py::arg("place"),
             "kind: same, content, tensor, length, keys, absent, object, function, bases or attribute; place: (holder, "
             "key, "
             "value), "
             "of a length (holder,).")
        .def("sees", &Guards::sees, py::arg("first"))
        .def(
            "met", [](const Guards& g, std::vector<py::object> tensors) -> As<"list[Tensor] | int"> {
                const int64_t row = g.met(tensors);
                return row == Guards::kMet ? py::cast(tensors) : py::cast(row);
            },
            py::arg("tensors"));
    py::class_<Captured>(m, "_Capture", "The operations of a function on tensors, to be done again.",
                         py::custom_type_setup(&let_collect<Captured>))
        .def(py::init<Captured::Objects>(), py::arg("inputs"))
        .def("enter", &Captured::enter)
        .def("exit", &Captured::exit)
        .def("finish", &Captured::finish, py::arg("results"), py::arg("guards"), py::arg("args"), py::arg("named"),
             py::arg("value"), py::arg("same"), py::arg("places"))
        .def("difference", &Captured::difference, py::arg("other"))
        .def("mismatch", &Captured::mismatch, py::arg("inputs"))
        .def("replay", &Captured::replay, py::arg("inputs"), py::arg("args"), py::arg("named"))
        .def_property_readonly("launches", &Captured::actions, "Kernels and copies of a replay.")
        .def_property_readonly("own_bytes", &Captured::own_bytes, "Device memory that it keeps from call to call.");
    py::class_<Calls>(m, "_Calls", "Calls what was captured last, where it is the same call.",
                      py::custom_type_setup(&Calls::take_slots))
        .def(py::init<>())
        .def("_set_last", &Calls::set_last, py::arg("captured"), "None: every call goes to _otherwise.");
}

}  // namespace strata::python
