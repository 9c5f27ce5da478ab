#include "strata/hip/stream/event.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/device_file.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/stream/recording.h"
#include "strata/hip/stream/stream_waits.h"

namespace strata::hip::library {
namespace {

// hipEventReleaseToDevice, ...ToSystem: one of them; hipEventInterprocess: without times.
constexpr unsigned kAllFlags = 7 | 0x40000000 | 0x80000000 | 0x20000000;
constexpr unsigned kBothReleases = 0x40000000 | 0x80000000;

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
    *out = add_event({current(), flags});
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

/// The present value of an event; another thread may record it again.
std::optional<Event> copy_of(void* handle) {
    std::lock_guard lock(events().mutex);
    auto* const event = static_cast<Event*>(handle);
    if (!events().all.contains(event)) return {};
    Event out = *event;
    if (out.shared) out.number = out.shared->event->recorded;
    return out;
}

/// True if the copy of an event is not over.
bool is_pending(const Event& event) {
    if (event.shared) return event.shared->event->done < event.number;
    const auto pending = event.pending.lock();  // none: the work before it is done, or never will be
    return pending && !*pending;
}

/// Until what is pending of an event, a copy, is done.
Code wait_on_host_for(const Event& event) {
    return wait_until_ready([&] { return !is_pending(event); }, event.shared != nullptr);
}

/// The number of a record that begins.
uint64_t begin_record(Event& event) { return event.shared ? ++event.shared->event->recorded : 0; }
void end_record(const Event& event, uint64_t number) {
    if (!event.shared) return;
    std::atomic<uint64_t>& done = event.shared->event->done;
    for (uint64_t now = done; now < number && !done.compare_exchange_weak(now, number);) continue;
}

Code record_after_held(Stream& stream, Event* event) {
    const auto pending = std::make_shared<std::atomic<bool>>(false);
    uint64_t number = 0;
    {
        std::lock_guard lock(events().mutex);
        if (!events().all.contains(event)) return hipErrorInvalidHandle;
        number = begin_record(*event);
        event->pending = pending;
        event->capture = nullptr;
    }
    return in_order(stream, [event, pending, number](Stream& own) {
        const Time now = end_of(own);
        std::lock_guard lock(events().mutex);
        if (events().all.contains(event)) {
            if (event->pending.lock() == pending) event->at = now;  // else recorded again
            end_record(*event, std::max<uint64_t>(number, 1));      // 1: it is shared since
        }
        *pending = true;
        return hipSuccess;
    });
}

Code record_on(void* handle, void* stream_handle) {
    const std::optional<Event> event = copy_of(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (!event) return hipErrorInvalidHandle;
    if (!stream) return hipErrorContextIsDestroyed;
    if (event->device != stream->device) return hipErrorInvalidHandle;
    if (stream->records || held_back == 0) return record_event(*stream, handle);
    return record_after_held(*stream, static_cast<Event*>(handle));
}

/// Until the work before an event is done, or hipErrorNotReady.
Code wait_for(void* handle, bool waits) {
    std::optional<Event> event = copy_of(handle);
    if (!event) return hipErrorInvalidHandle;
    if (event->capture && event->capture->open) return hipErrorCapturedEvent;
    if (is_pending(*event)) {
        go_on();
        if (!waits && is_pending(*event)) return hipErrorNotReady;
        if (waits)
            if (const Code code = wait_on_host_for(*event); code != hipSuccess) return code;
        event = copy_of(handle);
    }
    if (event && event->at) wait_on_host(event->device, *event->at, waits ? HostClock::wakes : HostClock::waits);
    return hipSuccess;
}

Code elapsed(float* milliseconds, void* start, void* stop) {
    if (!milliseconds) return hipErrorInvalidValue;
    const std::optional<Event> from = copy_of(start), to = copy_of(stop);
    if (!from || !to || (from->flags | to->flags) & kNoTiming) return hipErrorInvalidHandle;
    if (is_pending(*from) || is_pending(*to)) return hipErrorNotReady;
    if (!from->at || !to->at || from->device != to->device) return hipErrorInvalidHandle;
    const auto femtoseconds = static_cast<int64_t>(*to->at - *from->at);
    *milliseconds = static_cast<float>(static_cast<double>(femtoseconds) * 1e-12);
    return hipSuccess;
}

}  // namespace

SharedEventFile::~SharedEventFile() {
    munmap(event, sizeof *event);
    close(file);
}

std::shared_ptr<SharedEventFile> map_event(int file) {
    struct stat about{};
    void* const at = fstat(file, &about) == 0 && about.st_size == sizeof(SharedEvent)
                         ? mmap(nullptr, sizeof(SharedEvent), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                         : MAP_FAILED;
    if (at != MAP_FAILED) return std::make_shared<SharedEventFile>(file, static_cast<SharedEvent*>(at));
    close(file);
    return nullptr;
}

void* add_event(Event event) {
    auto* const out = new Event(std::move(event));
    std::lock_guard lock(events().mutex);
    events().all.insert(out);
    return out;
}

Code share_event(void* handle, std::shared_ptr<SharedEventFile>& out, int& device) {
    std::lock_guard lock(events().mutex);
    auto* const event = static_cast<Event*>(handle);
    if (!events().all.contains(event)) return hipErrorInvalidValue;
    if (!(event->flags & kInterprocess)) return hipErrorInvalidConfiguration;
    if (!event->shared) {
        const int file = make_file(number_of(event->device), sizeof(SharedEvent));
        if (file < 0) return hipErrorOutOfMemory;
        event->shared = map_event(file);
        if (!event->shared) return hipErrorOutOfMemory;
        if (const auto pending = event->pending.lock(); pending && !*pending)
            event->shared->event->recorded = 1;  // whose end says so
    }
    out = event->shared;
    device = event->device;
    return hipSuccess;
}

bool is_event(void* handle) {
    std::lock_guard lock(events().mutex);
    return events().all.contains(static_cast<Event*>(handle));
}

Code record_event(Stream& stream, void* handle) {
    std::shared_ptr<Capture> capture = capture_of(stream);
    std::vector<Node*> tips = capture ? tips_of(stream) : std::vector<Node*>{};
    const Time now = end_of(stream);
    std::lock_guard lock(events().mutex);
    if (!events().all.contains(static_cast<Event*>(handle))) return hipErrorInvalidHandle;
    Event& event = *static_cast<Event*>(handle);
    event.capture = std::move(capture);
    event.tips = std::move(tips);
    event.pending.reset();
    if (event.capture) return hipSuccess;
    event.at = now;
    end_record(event, begin_record(event));
    return hipSuccess;
}

Code wait_for_event(Stream& stream, void* handle) {
    const std::optional<Event> event = copy_of(handle);
    if (!event) return hipErrorInvalidHandle;
    if (event->capture && event->capture->open) return join_capture(stream, event->capture, event->tips);
    if (stream.records) return hipErrorStreamCaptureIsolation;
    const bool pending = is_pending(*event);
    const auto wait_for_it = [handle, at = event->at, pending](Stream& own) {
        const std::optional<Event> done = pending ? copy_of(handle) : std::nullopt;
        if (const std::optional<Time> time = done ? done->at : at) wait_until(own, *time);
        return hipSuccess;
    };
    if (!pending) return in_order(stream, wait_for_it);
    Awaited awaited{[own = *event] { return !is_pending(own); }};
    if (event->shared) {
        awaited.memory = event->shared->event;
        awaited.text = [] { return std::string("until an event of another process is done"); };
    }
    hold(stream, std::move(awaited), wait_for_it);
    return hipSuccess;
}

Code wait_with_host(Stream& stream, void* handle) {
    const std::optional<Event> event = copy_of(handle);
    if (event && is_pending(*event) && !event->capture)
        if (const Code code = wait_on_host_for(*event); code != hipSuccess) return code;
    return wait_for_event(stream, handle);
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
    return entry("hipEventQuery", [&] { return wait_for(event, false); });
}
int hipEventSynchronize(void* event) {
    return entry("hipEventSynchronize", [&] { return wait_for(event, true); });
}
int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    return entry("hipEventElapsedTime", [&] { return elapsed(milliseconds, start, stop); });
}
