#include "strata/bindings/hip/stream_p.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "strata/bindings/hip/event_p.h"
#include "strata/bindings/hip/exports_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {
namespace {

constexpr double kLinkGbs = 25;               // 10^9 bytes a second: PCIe 4.0 x16, as copies of many MiB see it
constexpr Time kCopyLatency = 5'000'000'000;  // 5 us

/// The streams of a device and its host's clock.
struct Timeline {
    Stream legacy;
    std::set<Stream*> streams;  ///< that the program made, and those of threads
    Time host = 0;              ///< nothing that is called now begins before
};
struct Timelines {
    Mutex mutex;
    std::map<int, Timeline> of_device;
    Timeline& of(int device) {
        Timeline& own = of_device[device];
        if (!own.legacy.handle) {
            own.legacy.device = device;
            own.legacy.legacy = true;
            own.legacy.handle = emulator().stream_create(device).value();
        }
        return own;
    }
};
Timelines& timelines() {
    static auto* all = new Timelines;
    return *all;
}

Stream* make(int device, unsigned flags, int priority) {
    auto* stream = new Stream{device, flags, priority};
    stream->handle = emulator().stream_create(device).value();
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    all.of(device).streams.insert(stream);
    return stream;
}

Stream* of_thread(int device) {
    thread_local std::map<int, Stream*> own;
    Stream*& stream = own[device];
    if (!stream) stream = make(device, 0, 0);
    return stream;
}

/// Before which time nothing begins that is called on a stream now.
Time start_of(const Timeline& line, const Stream& stream) {
    Time start = std::max(stream.now, line.host);
    if (stream.legacy)
        for (const Stream* other : line.streams)
            if (!(other->flags & kNonBlocking)) start = std::max(start, other->now);
    return stream.flags & kNonBlocking ? start : std::max(start, line.legacy.now);
}

Code create(void** out, unsigned flags, int priority) {
    if (!out || flags > kNonBlocking) return hipErrorInvalidValue;
    *out = make(current(), flags, std::clamp(priority, -1, 1));
    return hipSuccess;
}

Code destroy(void* handle) {
    if (!handle || address(handle) <= kPerThreadStream) return hipErrorInvalidHandle;
    Stream* const stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    Timelines& all = timelines();
    {
        std::lock_guard lock(all.mutex);
        all.of(stream->device).streams.erase(stream);
    }
    (void)emulator().stream_destroy(stream->handle);
    delete stream;
    return hipSuccess;
}

template <class F>
Code with_stream(void* handle, F&& tell_of) {
    Stream* const stream = stream_of(handle);
    return stream ? tell_of(*stream) : hipErrorContextIsDestroyed;
}

template <class T>
Code write_value(void* handle, void* to, T value, unsigned flags) {
    if (!to || flags) return hipErrorInvalidValue;
    return on_stream(handle, NodeType::fill, [=](Stream&) {
        *static_cast<T*>(to) = value;
        return hipSuccess;
    });
}

}  // namespace

Stream* stream_of(void* handle) {
    if (address(handle) == kPerThreadStream) return of_thread(current());
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    if (address(handle) <= kLegacyStream) return &all.of(current()).legacy;
    auto* const stream = static_cast<Stream*>(handle);
    for (const auto& [device, line] : all.of_device)
        if (line.streams.contains(stream)) return stream;
    return nullptr;
}

void spend(Stream& stream, Time duration) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    stream.now = start_of(all.of(stream.device), stream) + duration;
}

Time end_of(Stream& stream) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    return stream.now = start_of(all.of(stream.device), stream);
}

void wait_until(Stream& stream, Time time) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    stream.now = std::max(stream.now, time);
}

void wait_on_host(int device, Time time) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    Timeline& line = all.of(device);
    line.host = std::max(line.host, time);
}

void wait_for_stream(Stream& stream) { wait_on_host(stream.device, end_of(stream)); }

void wait_for_device(int device) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    Timeline& line = all.of(device);
    line.host = std::max(line.host, line.legacy.now);
    for (const Stream* stream : line.streams) line.host = std::max(line.host, stream->now);
}

void reset_streams(int device) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    Timeline& line = all.of(device);
    line.host = line.legacy.now = 0;
    for (Stream* stream : line.streams) stream->now = 0;
}

Time time_within_device(int device, size_t bytes) {
    return kCopyLatency + static_cast<Time>(static_cast<double>(bytes) / told(device).memory_gbs * 1e6);
}
Time time_over_link(size_t bytes) {
    return kCopyLatency + static_cast<Time>(static_cast<double>(bytes) / kLinkGbs * 1e6);
}

}  // namespace strata::hip::library

using namespace strata;
using namespace strata::hip::library;

int hipStreamCreate(void** stream) {
    return entry("hipStreamCreate", [&] { return create(stream, 0, 0); });
}
int hipStreamCreateWithFlags(void** stream, unsigned flags) {
    return entry("hipStreamCreateWithFlags", [&] { return create(stream, flags, 0); });
}
int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    return entry("hipStreamCreateWithPriority", [&] { return create(stream, flags, priority); });
}
int hipExtStreamCreateWithCUMask(void** stream, uint32_t words, const uint32_t* mask) {
    return entry("hipExtStreamCreateWithCUMask",
                 [&] { return words && mask ? create(stream, 0, 0) : hipErrorInvalidValue; });
}
int hipStreamDestroy(void* stream) {
    return entry("hipStreamDestroy", [&] { return destroy(stream); });
}
int hipStreamQuery(void* stream) {
    return entry("hipStreamQuery", [&] { return with_stream(stream, [](Stream&) { return hipSuccess; }); });
}
int hipStreamSynchronize(void* stream) {
    return entry("hipStreamSynchronize", [&] { return and_wait(stream, [](Stream&) { return hipSuccess; }); });
}
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return entry("hipStreamWaitEvent", [&] {
        if (flags) return hipErrorInvalidValue;
        return with_stream(stream, [&](Stream& own) { return wait_for_event(own, event); });
    });
}
int hipStreamGetFlags(void* stream, unsigned* flags) {
    return entry("hipStreamGetFlags",
                 [&] { return with_stream(stream, [&](Stream& s) { return set(flags, s.flags); }); });
}
int hipStreamGetPriority(void* stream, int* priority) {
    return entry("hipStreamGetPriority",
                 [&] { return with_stream(stream, [&](Stream& s) { return set(priority, s.priority); }); });
}
int hipStreamGetDevice(void* stream, int* device) {
    return entry("hipStreamGetDevice",
                 [&] { return with_stream(stream, [&](Stream& s) { return set(device, number_of(s.device)); }); });
}
int hipGetStreamDeviceId(void* stream) {
    Stream* const own = stream_of(stream);
    return own ? number_of(own->device) : -1;
}
int hipStreamAddCallback(void* stream, StreamCallback callback, void* data, unsigned flags) {
    return entry("hipStreamAddCallback", [&] {
        if (!callback || flags) return hipErrorInvalidValue;
        return on_stream(stream, NodeType::host, [=](Stream&) {
            callback(stream, hipSuccess, data);
            return hipSuccess;
        });
    });
}
int hipLaunchHostFunc(void* stream, HostFunction function, void* data) {
    return entry("hipLaunchHostFunc", [&] {
        if (!function) return hipErrorInvalidValue;
        return on_stream(stream, NodeType::host, [=](Stream&) {
            function(data);
            return hipSuccess;
        });
    });
}
int hipStreamWriteValue32(void* stream, void* to, uint32_t value, unsigned flags) {
    return entry("hipStreamWriteValue32", [&] { return write_value(stream, to, value, flags); });
}
int hipStreamWriteValue64(void* stream, void* to, uint64_t value, unsigned flags) {
    return entry("hipStreamWriteValue64", [&] { return write_value(stream, to, value, flags); });
}
