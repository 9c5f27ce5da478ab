#include "strata/runtime/stream.h"

#include <algorithm>
#include <atomic>

#include "convert_p.h"
#include "front_end_p.h"
#include "strata/runtime/replay.h"

// strata.Stream and strata.Event.
namespace strata::python {
namespace {

using runtime::Device;
using runtime::Event;
using runtime::Stream;

/// A stream as Python sees it, the device's own included.
struct PyStream {
    Device* device;
    std::shared_ptr<Stream> stream;      ///< null: the device's own
    std::vector<uint64_t> entered = {};  ///< blocks that it is in, by their numbers
};

/// A block `with stream:` that a thread is in.
struct StreamBlock {
    uint64_t number;
    Device* device;
    std::shared_ptr<Stream> around;  ///< that of the thread when the block began
};
std::vector<StreamBlock>& stream_blocks() {
    thread_local std::vector<StreamBlock> blocks;
    return blocks;
}

void enter_stream(PyStream& s) {
    static std::atomic<uint64_t> last{0};
    runtime::refuse_in_recording("a stream is chosen");
    s.entered.push_back(++last);
    stream_blocks().push_back({s.entered.back(), s.device, Stream::change(*s.device, s.stream)});
}

/// The innermost of this thread's blocks of the stream ends; those within it stay in force.
void leave_stream(PyStream& s) {
    const auto is_of_stream = [&](const StreamBlock& b) {
        return std::ranges::find(s.entered, b.number) != s.entered.end();
    };
    std::vector<StreamBlock>& all = stream_blocks();
    const auto found = std::find_if(all.rbegin(), all.rend(), is_of_stream);
    if (found == all.rend())
        user_error(ErrorKind::Usage, "a stream is left that was not entered on this thread: use with stream:");
    const auto within =
        std::find_if(found.base(), all.end(), [&](const StreamBlock& b) { return b.device == found->device; });
    std::erase(s.entered, found->number);
    if (within != all.end())
        within->around = std::move(found->around);
    else
        Stream::change(*found->device, std::move(found->around));
    all.erase(std::prev(found.base()));
}
struct PyEvent {
    Device* device = nullptr;  ///< none: that of the stream that records it
    std::shared_ptr<Event> event = {};
};

PyStream made(const std::string& device, const std::optional<uint64_t>& ptr) {
    Device& on = runtime::device(device);
    return {&on, ptr ? Stream::over(on, *ptr) : Stream::create(on)};
}

providers::StreamHandle* handle(const PyStream& s) {
    return s.stream ? s.stream->handle() : s.device->own_stream().value();
}

PyStream current(const std::string& device) {
    Device& on = runtime::device(device);
    return {&on, Stream::current(on)};
}

void record(PyEvent& event, const PyStream& stream) {
    if (event.device && event.device != stream.device)
        user_error(ErrorKind::Usage, "[Event.record] the event is one of {}, the stream of {}", event.device->name(),
                   stream.device->name());
    event.device = stream.device;
    if (!event.event) event.event = std::make_shared<Event>(*stream.device);
    event.event->record(stream.stream.get());
}

const Event& recorded(const PyEvent& event) {
    if (!event.event) user_error(ErrorKind::Usage, "the event was not recorded: event.record(stream) comes first");
    return *event.event;
}

/// `stream`, or the one that this thread's work goes to.
PyStream or_current(const PyEvent& event, const PyStream* stream) {
    if (stream) return *stream;
    return event.device ? PyStream{event.device, Stream::current(*event.device)} : current("");
}

void wait(const PyEvent& event, const PyStream& stream) {
    const Event& point = recorded(event);
    if (event.device != stream.device) return point.synchronize();  // another device's
    point.wait(stream.stream.get());
}

void bind_stream(py::module_& m, py::class_<PyStream>& stream) {
    stream
        .def(py::init(&made), py::arg("device") = "", py::kw_only(), py::arg("ptr") = py::none(),
             "A stream of a device; with `ptr` over one that somebody else has and keeps: a hipStream_t or "
             "cudaStream_t as "
             "an int (torch.cuda.Stream().cuda_stream, cupy.cuda.Stream().ptr). Raises DeviceError.")
        .def(
            "__enter__",
            [](PyStream& s) -> PyStream& {
                enter_stream(s);
                return s;
            },
            py::return_value_policy::reference_internal)
        .def("__exit__", [](PyStream& s, const py::args&) { leave_stream(s); })
        .def_property_readonly(
            "ptr", [](const PyStream& s) { return s.device->api().stream_raw(handle(s)); },
            "The driver's handle as an int: a hipStream_t, a cudaStream_t; 0 is its default stream.")
        .def_property_readonly(
            "device", [](const PyStream& s) { return s.device->name(); }, "The device of the stream.")
        .def(
            "synchronize",
            [](const PyStream& s) { computing([&] { s.device->api().stream_synchronize(handle(s)).value(); }); },
            "Returns once all that the stream was given is done. Raises what went wrong there.")
        .def(
            "query", [](const PyStream& s) { return s.device->api().stream_query(handle(s)).value(); },
            "Whether all that the stream was given is done.")
        .def(
            "record_event",
            [](const PyStream& s, PyEvent* event) {
                PyEvent made;
                record(event ? *event : made, s);
                return event ? *event : made;
            },
            py::arg("event") = py::none(), "An event here, after all work that the stream was given so far.")
        .def(
            "wait_event", [](const PyStream& s, const PyEvent& event) { wait(event, s); }, py::arg("event"),
            "All later work of the stream waits for the event.")
        .def(
            "wait_stream",
            [](const PyStream& s, const PyStream& other) {
                PyEvent here;
                record(here, other);
                wait(here, s);
            },
            py::arg("stream"), "All later work of the stream waits for all work that the other one was given so far.")
        .def("__repr__", [](const PyStream& s) {
            return fmt::format("<Stream {:#x} of {}>", s.device->api().stream_raw(handle(s)), s.device->name());
        });
    m.def("current_stream", &current, py::arg("device") = "",
          "The stream that this thread's work on a device goes to: that of the innermost `with stream:`, else the "
          "device's own.");
}

void bind_event(py::class_<PyEvent>& event) {
    event.def(py::init<>(), "An event of the device of the stream that records it.")
        .def(
            "record",
            [](PyEvent& e, const PyStream* stream) -> PyEvent& {
                record(e, or_current(e, stream));
                return e;
            },
            py::arg("stream") = py::none(), py::return_value_policy::reference_internal,
            "Records it after all work that a stream (by default the current one) was given so far; returns the event.")
        .def(
            "wait", [](const PyEvent& e, const PyStream* stream) { wait(e, or_current(e, stream)); },
            py::arg("stream") = py::none(),
            "All later work of a stream (by default the current one) waits for the event; where it is one of another "
            "device, "
            "this thread waits.")
        .def(
            "synchronize",
            [](const PyEvent& e) {
                const Event& point = recorded(e);
                computing([&] { point.synchronize(); });
            },
            "Returns once the event is over.")
        .def(
            "query", [](const PyEvent& e) { return recorded(e).done(); }, "Whether the event is over.")
        .def(
            "elapsed_time",
            [](const PyEvent& e, const PyEvent& end) {
                const Event &from = recorded(e), &to = recorded(end);
                return computing([&] { return from.elapsed_ms(to); });
            },
            py::arg("end"),
            "Milliseconds on the device from this event to another, once that is over; modelled on an emulated device.")
        .def("__repr__", [](const PyEvent& e) {
            return e.event ? fmt::format("<Event on {}>", e.device->name()) : std::string("<Event, not recorded>");
        });
}

}  // namespace

void bind_streams(py::module_& m) {
    // Both, before what names them is bound.
    py::class_<PyStream> stream(
        m, "Stream",
        "Work of one device in its order, beside that of its other streams. `with stream:` gives it what this thread "
        "starts on the device: kernels, copies, captured lists. A tensor is right whichever streams compute and read "
        "it: a "
        "stream waits for what others wrote. strata.Event orders work that is not Strata's.");
    py::class_<PyEvent> event(m, "Event",
                              "A point in the work of a stream: others wait for it, and two of them measure time.");
    bind_stream(m, stream);
    bind_event(event);
}

}  // namespace strata::python
