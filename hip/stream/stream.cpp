#include "strata/hip/stream/stream.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/stream/event.h"
#include "strata/hip/stream/stream_waits.h"

namespace strata::hip::library {
namespace {

/// How a device and its host reach one another: a row of pcie.def.
struct Link {
    std::string_view arch;
    int generation;
    double copy_us, staged_gbs, wake_us;
    /// 10^9 bytes a second one way over the 16 lanes of a card's PCI Express. A lane has 16 GT/s in the fourth
    /// generation, 32 in the fifth. Of 130 bits 128 are data (PCI Express Base Specification 4.0 and 5.0).
    double gbs() const { return (1 << generation) * 16 * 128.0 / 130 / 8; }
};
constexpr Link kLinks[] = {
#define LINK(arch, ...) {#arch, __VA_ARGS__},
#include "strata/hip/stream/pcie.def"
#undef LINK
};
constexpr bool has_link(std::string_view arch) {
    return std::ranges::find(kLinks, arch, &Link::arch) != std::end(kLinks);
}
#define ARCH(arch, ...) static_assert(has_link(#arch), "hip/stream/pcie.def lacks a row of " #arch);
#include "strata/asm/isa/archs.def"
#undef ARCH
const Link& link_of(int device) {
    return *std::ranges::find(kLinks, std::string_view(query(device).arch), &Link::arch);
}

// Bytes of pageable memory up to which AMD's library copies through pinned memory of its own (ROCclr,
// GPU_PINNED_MIN_XFER_SIZE).
constexpr size_t kMostStaged = 1 << 20;

Time microseconds(double us) { return static_cast<Time>(us * 1e9); }

/// The streams of a device and its host's clock.
struct Timeline {
    Stream legacy;
    std::map<const Stream*, std::shared_ptr<Stream>> streams;  ///< that the program made, and those of threads
    Time host = 0;                                             ///< nothing that is called now begins before
    void wait(int device, Time end, HostClock how) {
        if (end > host && how != HostClock::goes_on)
            host = end + (how == HostClock::wakes ? microseconds(link_of(device).wake_us) : 0);
    }
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
    std::shared_ptr<Stream> find(const void* handle) const {
        for (const auto& [device, line] : of_device)
            if (const auto found = line.streams.find(static_cast<const Stream*>(handle)); found != line.streams.end())
                return found->second;
        return nullptr;
    }
};
Timelines& timelines() {
    static auto* all = new Timelines;
    return *all;
}

Stream* make(int device, unsigned flags, int priority) {
    const std::shared_ptr<Stream> stream(new Stream(device, flags, priority), [](Stream* own) {
        if (own->handle) (void)emulator().stream_destroy(own->handle);
        delete own;
    });
    stream->handle = emulator().stream_create(device).value();
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    all.of(device).streams[stream.get()] = stream;
    return stream.get();
}

void remove(Stream* stream) {
    leave_capture(*stream);
    (void)wait_until_free(*stream);
    Timelines& all = timelines();
    std::unique_lock lock(all.mutex);
    const auto last = all.of(stream->device).streams.extract(stream);
    lock.unlock();
}

/// A thread's streams, which end with it.
struct OfThread {
    std::map<int, Stream*> all;
    ~OfThread() {
        for (const auto& [device, stream] : all) remove(stream);
    }
};
Stream* of_thread(int device) {
    thread_local OfThread own;
    Stream*& stream = own.all[device];
    if (!stream) stream = make(device, 0, 0);
    return stream;
}

/// Before which time nothing begins that is called on a stream now.
Time start_of(const Timeline& line, const Stream& stream) {
    Time start = std::max(stream.now, line.host);
    if (stream.legacy)
        for (const auto& [other, kept] : line.streams)
            if (!(other->flags & kNonBlocking)) start = std::max(start, other->now);
    return stream.flags & kNonBlocking ? start : std::max(start, line.legacy.now);
}

Code create(void** out, unsigned flags, int priority) {
    if (!out || flags > kNonBlocking) return hipErrorInvalidValue;
    *out = make(current(), flags, std::clamp(priority, -1, 1));
    return hipSuccess;
}

Code create_for_units(void** out, uint32_t words, const uint32_t* mask) {
    const Code code = create(out, 0, 0);
    const bool any = std::any_of(mask, mask + words, [](uint32_t word) { return word != 0; });
    if (code == hipSuccess && any) static_cast<Stream*>(*out)->units.assign(mask, mask + words);
    return code;
}

/// Bits of the units that there are.
Code units_of(void* handle, uint32_t words, uint32_t* mask) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    const auto units = static_cast<unsigned>(query(stream->device).units);
    if (!mask || words < (units + 31) / 32) return hipErrorInvalidValue;
    for (uint32_t i = 0; i < words; ++i) {
        const unsigned first = i * 32, left = units > first ? units - first : 0;
        const uint32_t there = left >= 32 ? ~0u : (1u << left) - 1;
        const uint32_t wanted = stream->units.empty() ? ~0u : i < stream->units.size() ? stream->units[i] : 0;
        mask[i] = there & wanted;
    }
    return hipSuccess;
}

Code destroy(void* handle) {
    if (!handle || address(handle) <= kPerThreadStream) return hipErrorInvalidHandle;
    std::shared_ptr<Stream> stream;
    {
        Timelines& all = timelines();
        std::lock_guard lock(all.mutex);
        stream = all.find(handle);
        if (!stream || std::exchange(stream->leaving, true)) return hipErrorContextIsDestroyed;
    }
    remove(stream.get());
    return hipSuccess;
}

template <class F>
Code with_stream(void* handle, F&& tell_of) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    return stream ? tell_of(*stream) : hipErrorContextIsDestroyed;
}

}  // namespace

std::shared_ptr<Stream> stream_of(void* handle) {
    if (address(handle) == kPerThreadStream) return of_thread(current())->shared_from_this();
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    if (address(handle) <= kLegacyStream) return {std::shared_ptr<Stream>(), &all.of(current()).legacy};
    std::shared_ptr<Stream> stream = all.find(handle);
    return stream && !stream->leaving ? stream : nullptr;
}

void spend(Stream& stream, Time duration) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    stream.now = start_of(all.of(stream.device), stream) + duration;
}

void spend_launch(Stream& stream, Time work) {
    const DeviceProperties& device = query(stream.device);
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    const Timeline& line = all.of(stream.device);
    const Time start = start_of(line, stream);
    // Where the host is late, the queue was fed while it was at work.
    stream.now = start + microseconds(start > line.host ? device.next_launch_us : device.launch_us) + work;
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

void wait_on_host(int device, Time time, HostClock host) {
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    all.of(device).wait(device, time, host);
}

Code wait_for_stream(Stream& stream, HostClock host) {
    const Code code = wait_until_free(stream);
    wait_on_host(stream.device, end_of(stream), host);
    return code;
}

Code wait_for_device(int device, HostClock host) {
    const Code code = wait_until_free(device);
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    Timeline& line = all.of(device);
    Time end = line.legacy.now;
    for (const auto& [stream, kept] : line.streams) end = std::max(end, stream->now);
    line.wait(device, end, host);
    return code;
}

void reset_streams(int device) {
    drop_held(device);
    Timelines& all = timelines();
    std::lock_guard lock(all.mutex);
    Timeline& line = all.of(device);
    line.host = line.legacy.now = 0;
    for (const auto& [stream, kept] : line.streams) kept->now = 0;
}

Time time_within_device(int device, size_t bytes) {
    return static_cast<Time>(static_cast<double>(bytes) / query(device).memory_gbs * 1e6);
}
Time time_over_link(int device, size_t bytes, bool pageable) {
    const Link& link = link_of(device);
    const double gbs = pageable && bytes <= kMostStaged ? link.staged_gbs : link.gbs();
    return microseconds(link.copy_us) + static_cast<Time>(static_cast<double>(bytes) / gbs * 1e6);
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
    return entry("hipExtStreamCreateWithCUMask", [&] {
        if (!stream) return hipErrorInvalidHandle;
        return words && mask ? create_for_units(stream, words, mask) : hipErrorInvalidValue;
    });
}
int hipExtStreamGetCUMask(void* stream, uint32_t words, uint32_t* mask) {
    return entry("hipExtStreamGetCUMask", [&] { return units_of(stream, words, mask); });
}
int hipStreamDestroy(void* stream) {
    return entry("hipStreamDestroy", [&] { return destroy(stream); });
}
int hipStreamQuery(void* stream) {
    return entry("hipStreamQuery", [&] {
        return with_stream(stream, [](Stream& own) {
            if (own.records) return hipErrorStreamCaptureUnsupported;
            return is_held(own) ? hipErrorNotReady : hipSuccess;
        });
    });
}
int hipStreamSynchronize(void* stream) {
    return entry("hipStreamSynchronize",
                 [&] { return and_wait(stream, [](Stream&) { return hipSuccess; }, HostClock::wakes); });
}
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return entry("hipStreamWaitEvent", [&] {
        if (flags) return hipErrorInvalidValue;
        const std::shared_ptr<Stream> own = stream_of(stream);
        return own ? wait_for_event(*own, event) : hipErrorInvalidHandle;
    });
}
int hipStreamGetFlags(void* stream, unsigned* flags) {
    return entry("hipStreamGetFlags", [&] {
        return stream ? with_stream(stream, [&](Stream& s) { return set(flags, s.flags); }) : hipErrorInvalidValue;
    });
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
    int device = -1;
    (void)hipStreamGetDevice(stream, &device);
    return device;
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
