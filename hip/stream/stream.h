#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "strata/hip/api/state.h"

namespace strata::hip::library {

/// Modelled time in femtoseconds: sums of whole numbers do not depend on their order.
using Time = uint64_t;

struct Capture;

/// Work on a stream is done when its call returns; the stream keeps when that would have been, by the model. It ends
/// with the last call that uses it, where another thread destroys it meanwhile.
struct Stream : std::enable_shared_from_this<Stream> {
    explicit Stream(int device_ = 0, unsigned flags_ = 0, int priority_ = 0)
        : device(device_), flags(flags_), priority(priority_) {}
    int device;  ///< as the emulator counts
    unsigned flags;
    int priority;
    bool legacy = false;  ///< the device's own, which orders itself with all that do not say otherwise
    StreamHandle* handle = nullptr;
    std::vector<uint32_t> units = {};  ///< bits of those that it was made for; none: all
    Time now = 0;
    bool leaving = false;                        ///< a thread destroys it, and waits for what it holds back
    std::atomic<bool> records = false;           ///< what it does goes to a graph
    std::shared_ptr<Capture> capture = nullptr;  ///< of that graph; capture_of() asks for it
};
inline constexpr unsigned kNonBlocking = 1;

/// The stream that a handle means: of the device for null, of the thread for hipStreamPerThread; nullptr: it is none.
std::shared_ptr<Stream> stream_of(void* handle);
inline constexpr uintptr_t kLegacyStream = 1, kPerThreadStream = 2;
inline void* per_thread_stream() { return reinterpret_cast<void*>(kPerThreadStream); }

/// Takes the time `duration` on a stream, after everything that it has to wait for.
void spend(Stream& stream, Time duration);
/// The same for a kernel: `work` is without its launch, which takes less after other work than from an empty queue.
void spend_launch(Stream& stream, Time work);
/// When what is on a stream by now would have ended.
Time end_of(Stream& stream);
/// A stream does not go on before a time.
void wait_until(Stream& stream, Time time);
/// The host's clock during a call that returns when all is done.
enum class HostClock : uint8_t {
    goes_on,  ///< fills and copies within a device return at once
    waits,    ///< until then; a copy over the link has the way back in its own time
    wakes     ///< the same, and a sleeping thread is woken
};
/// The host waits. Errors: of wait_until_free().
Code wait_for_stream(Stream& stream, HostClock host = HostClock::waits);
Code wait_for_device(int device, HostClock host = HostClock::waits);
void wait_on_host(int device, Time time, HostClock host = HostClock::waits);  ///< until then
/// Sets clocks to zero.
void reset_streams(int device);

/// How long bytes take within a device's memory, by its rate alone.
Time time_within_device(int device, size_t bytes);
/// How long a copy over a device's link to the host takes. pageable: the host's side is not pinned.
Time time_over_link(int device, size_t bytes, bool pageable);

/// hipGraphNodeType of HIP 5, whose numbers are one less since.
enum class NodeType { kernel = 1, copy, fill, host, graph, empty, wait_event, record_event, allocate = 11, free };

using Work = std::function<Code(Stream&)>;
/// The capture of a stream that records; nullptr: it does not, or no more.
std::shared_ptr<Capture> capture_of(const Stream& stream);
/// A stream that is being destroyed records no more.
void leave_capture(Stream& stream);
/// A call that cannot be recorded was made: the graph is lost.
void invalidate(Stream& stream);
/// True if such a call is refused, whatever its stream, as one captures that wants it so: whose graph is lost then.
bool refused_by_capture();
/// Keeps work for the graph that a stream records.
Code record(Stream& stream, NodeType type, Work work);

/// How much is kept back by streams that wait (stream_waits.h).
extern std::atomic<size_t> held_back;
/// Runs work, or queues it after what is kept back.
Code in_order_of_held(Stream& stream, Work work);
template <class F>
Code in_order(Stream& stream, F&& work) {
    return held_back == 0 ? work(stream) : in_order_of_held(stream, std::forward<F>(work));
}

/// Runs work(stream), or keeps it for a graph: then it is called whenever the graph is launched.
template <class F>
Code on_stream(void* handle, NodeType type, F&& work) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    return stream->records ? record(*stream, type, std::forward<F>(work)) : in_order(*stream, std::forward<F>(work));
}
/// The same for a call that returns when all is done.
template <class F>
Code and_wait(void* handle, F&& work, HostClock host = HostClock::waits) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (stream->records) {
        invalidate(*stream);
        return hipErrorStreamCaptureUnsupported;
    }
    if (refused_by_capture()) return stream->legacy ? hipErrorStreamCaptureImplicit : hipErrorStreamCaptureUnsupported;
    if (const Code code = wait_for_stream(*stream, host); code != hipSuccess) return code;
    const Code code = in_order(*stream, std::forward<F>(work));
    return code == hipSuccess ? wait_for_stream(*stream, host) : code;
}

}  // namespace strata::hip::library
