#include "strata/bindings/hip/event_p.h"

#include <mutex>
#include <set>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/graph_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {
namespace {

// hipEventReleaseToDevice, ...ToSystem: one of them; hipEventInterprocess: without times.
constexpr unsigned kAllFlags = 7 | 0x40000000 | 0x80000000 | 0x20000000;
constexpr unsigned kBothReleases = 0x40000000 | 0x80000000, kInterprocess = 4;

bool may_have(unsigned flags) {
    if (flags & ~kAllFlags || (flags & kBothReleases) == kBothReleases) return false;
    return !(flags & kInterprocess) || flags & kNoTiming;
}

struct Events {
    Mutex mutex;
    std::set<Event*> all;
};
Events& events() {
    static auto* all = new Events;
    return *all;
}

Code create(void** out, unsigned flags) {
    if (!out || !may_have(flags)) return hipErrorInvalidValue;
    auto* event = new Event{current(), flags};
    std::lock_guard lock(events().mutex);
    events().all.insert(event);
    *out = event;
    return hipSuccess;
}

Code destroy(void* handle) {
    if (!handle) return hipErrorInvalidHandle;
    std::lock_guard lock(events().mutex);
    auto* const event = static_cast<Event*>(handle);
    if (!events().all.erase(event)) return hipErrorContextIsDestroyed;
    delete event;
    return hipSuccess;
}

/// What an event holds now; another thread may record it again.
std::optional<Event> copy_of(void* handle) {
    std::lock_guard lock(events().mutex);
    auto* const event = static_cast<Event*>(handle);
    return events().all.contains(event) ? std::optional(*event) : std::nullopt;
}

Code record_on(void* handle, void* stream_handle) {
    Event* const event = event_of(handle);
    Stream* const stream = stream_of(stream_handle);
    if (!event) return hipErrorInvalidHandle;
    if (!stream) return hipErrorContextIsDestroyed;
    if (event->device != stream->device) return hipErrorInvalidHandle;
    return record_event(*stream, *event);
}

Code wait_for(void* handle) {
    const std::optional<Event> event = copy_of(handle);
    if (!event) return hipErrorInvalidHandle;
    if (event->capture && event->capture->open) return hipErrorCapturedEvent;
    if (event->at) wait_on_host(event->device, *event->at);
    return hipSuccess;
}

Code elapsed(float* milliseconds, void* start, void* stop) {
    if (!milliseconds) return hipErrorInvalidValue;
    const std::optional<Event> from = copy_of(start), to = copy_of(stop);
    if (!from || !to || (from->flags | to->flags) & kNoTiming) return hipErrorInvalidHandle;
    if (!from->at || !to->at || from->device != to->device) return hipErrorInvalidHandle;
    const auto femtoseconds = static_cast<int64_t>(*to->at - *from->at);
    *milliseconds = static_cast<float>(static_cast<double>(femtoseconds) * 1e-12);
    return hipSuccess;
}

}  // namespace

Event* event_of(void* handle) {
    std::lock_guard lock(events().mutex);
    auto* const event = static_cast<Event*>(handle);
    return events().all.contains(event) ? event : nullptr;
}

Code record_event(Stream& stream, Event& event) {
    std::vector<Node*> tips = stream.capture ? tips_of(stream) : std::vector<Node*>{};
    const Time now = end_of(stream);
    std::lock_guard lock(events().mutex);
    event.capture = stream.capture;
    event.tips = std::move(tips);
    if (!event.capture) event.at = now;
    return hipSuccess;
}

Code wait_for_event(Stream& stream, void* handle) {
    const std::optional<Event> event = copy_of(handle);
    if (!event) return hipErrorInvalidHandle;
    if (event->capture && event->capture->open) return join_capture(stream, event->capture, event->tips);
    if (stream.capture) return hipErrorStreamCaptureIsolation;
    if (event->at) wait_until(stream, *event->at);
    return hipSuccess;
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipEventCreate(void** event) {
    return entry("hipEventCreate", [&] { return create(event, 0); });
}
int hipEventCreateWithFlags(void** event, unsigned flags) {
    return entry("hipEventCreateWithFlags", [&] { return create(event, flags); });
}
int hipEventDestroy(void* event) {
    return entry("hipEventDestroy", [&] { return destroy(event); });
}
int hipEventRecord(void* event, void* stream) {
    return entry("hipEventRecord", [&] { return record_on(event, stream); });
}
int hipEventRecordWithFlags(void* event, void* stream, unsigned flags) {
    return entry("hipEventRecordWithFlags",
                 [&] { return flags > 1 ? hipErrorInvalidValue : record_on(event, stream); });
}
int hipEventQuery(void* event) {
    return entry("hipEventQuery", [&] { return wait_for(event); });
}
int hipEventSynchronize(void* event) {
    return entry("hipEventSynchronize", [&] { return wait_for(event); });
}
int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    return entry("hipEventElapsedTime", [&] { return elapsed(milliseconds, start, stop); });
}
