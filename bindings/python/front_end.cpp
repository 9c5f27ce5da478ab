#include "front_end_p.h"

#include <atomic>
#include <optional>
#include <thread>

#include "convert_p.h"
#include "strata/codegen/driver/compile.h"

// Python as the front end: its signals, its lock, its end, and the settings of its contexts.
namespace strata::python {
namespace {

constexpr std::chrono::seconds kPatienceAtExit{10};

std::atomic<bool> closing{false};
std::atomic<int> outside{0};  ///< threads of Python that gave up the GIL here, and HoldUpTheEnd
std::atomic<unsigned long> main_thread{0};

bool is_main_thread() { return PyThread_get_thread_ident() == main_thread.load(std::memory_order_relaxed); }

/// The exception of a signal's handler; of the main thread.
std::optional<py::error_already_set>& raised() {
    static auto* error = new std::optional<py::error_already_set>;
    return *error;
}

bool wants_stop() {
    if (!is_main_thread()) return closing.load(std::memory_order_relaxed);
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool stop = PyErr_CheckSignals() != 0;
    if (stop) raised().emplace();
    PyGILState_Release(state);
    return stop;
}

void* let_go() {
    if (!PyGILState_Check()) return nullptr;
    ++outside;
    return PyEval_SaveThread();
}

/// A thread that waits for the GIL when Python ends is unwound out of this function and all its callers. It must not
/// come here any more.
bool take_back(void* state) {
    const bool may_enter = !closing || is_main_thread();
    if (may_enter) PyEval_RestoreThread(static_cast<PyThreadState*>(state));
    --outside;
    return may_enter;
}

const Settings* settings_in_force() { return PyGILState_Check() ? settings_of_context().get() : nullptr; }

constexpr FrontEnd kPython{wants_stop, let_go, take_back, settings_in_force};

/// Before Python ends: daemon threads stop what they compute and come to rest outside of it.
void close() {
    closing = true;
    py::gil_scoped_release release;
    const auto end = std::chrono::steady_clock::now() + kPatienceAtExit;
    while (outside > 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    codegen::finish_compiling();
}

void start_in_child() {
    outside = 0;
    main_thread = PyThread_get_thread_ident();
}

}  // namespace

HoldUpTheEnd::HoldUpTheEnd() { ++outside; }
HoldUpTheEnd::~HoldUpTheEnd() { --outside; }

void raise_interruption() {
    if (!raised()) return PyErr_SetNone(PyExc_KeyboardInterrupt);
    raised()->restore();
    raised().reset();
}

void bind_front_end() {
    main_thread = py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
    py::module_::import("atexit").attr("register")(py::cpp_function(&close));
    py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function(&start_in_child));
    set_front_end(&kPython);
}

}  // namespace strata::python
