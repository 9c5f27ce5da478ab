#include <map>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/virtual_memory.h"
#include "strata/hip/module/registration.h"
#include "strata/hip/stream/stream.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {
namespace {

Code version(int* out) { return set(out, major_version() * 10'000'000); }

/// The flags of hipSetDeviceFlags, by device.
struct Flags {
    Mutex mutex;
    std::map<int, unsigned> of_device;
};
Flags& flags() {
    static auto* all = new Flags;
    return *all;
}
void set_flags(int device, unsigned value) {
    std::lock_guard lock(flags().mutex);
    flags().of_device[device] = value;
}
unsigned flags_of(int device) {
    std::lock_guard lock(flags().mutex);
    return flags().of_device[device];
}

/// Gives back all memory of the thread's device, and what was loaded; a fault is forgotten.
Code reset() {
    const int device = current();
    unload_registered(device);
    forget_textures(device);
    forget_surfaces(device);
    forget_arrays(device);
    for (const Block& block : blocks_of(device)) (void)release(reinterpret_cast<void*>(block.start));
    forget_peers_of(device);
    forget_mapped(device);
    reset_streams(device);
    set_flags(device, 0);
    return hipSuccess;
}

constexpr unsigned kScheduleMask = 7, kAllFlags = 0x1f;

/// hipLimit_t: the stack of a work-item, malloc in kernels. Printed text has no limit here, nor in AMD's library.
enum LimitCode { of_stack, of_printing, of_heap };
/// The limits of a device, in bytes.
struct Limits {
    size_t stack = 1024, heap = 64 << 20;
};
struct AllLimits {
    Mutex mutex;
    std::map<int, Limits> of_device;
};
AllLimits& limits() {
    static auto* all = new AllLimits;
    return *all;
}

/// Another number is a wrong value since HIP 6, which knows hipLimitRange. HIP 7 has numbers of its own up to 0x1002,
/// of which none is here.
Code check_limit(int code) {
    const unsigned range = major_version() >= 7 ? 0x1003 : 3;
    if (major_version() >= 6 && static_cast<unsigned>(code) >= range) return hipErrorInvalidValue;
    return code == of_stack || code == of_heap ? hipSuccess : hipErrorUnsupportedLimit;
}

Code set_limit(int code, size_t value) {
    // COMPUTE_TMPRING_SIZE counts a wave's scratch memory in 2^13 units of 256 words: so much of it a lane of 64 has.
    constexpr size_t kMostStack = 128 * 1024 - 16, kStackUnit = 16;
    if (const Code known = check_limit(code); known != hipSuccess) return known;
    if (code == of_stack ? value > kMostStack : value >= query(current()).memory_bytes) return hipErrorInvalidValue;
    const int device = current();
    std::lock_guard lock(limits().mutex);
    Limits& own = limits().of_device[device];
    if (code == of_stack)
        own.stack = (value + kStackUnit - 1) / kStackUnit * kStackUnit;
    else
        own.heap = value;
    return hipSuccess;
}

Code tell_limit(size_t* out, int code) {
    if (!out) return hipErrorInvalidValue;
    if (const Code known = check_limit(code); known != hipSuccess) return known;
    const int device = current();
    std::lock_guard lock(limits().mutex);
    const Limits& own = limits().of_device[device];
    return set(out, code == of_stack ? own.stack : own.heap);
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata;
using namespace strata::hip::library;

int hipInit(unsigned flags) {
    return entry("hipInit", [&] {
        if (flags != 0) return hipErrorInvalidValue;
        return devices().empty() ? hipErrorNoDevice : hipSuccess;
    });
}
int hipRuntimeGetVersion(int* out) {
    return entry("hipRuntimeGetVersion", [&] { return version(out); });
}
int hipDriverGetVersion(int* out) {
    return entry("hipDriverGetVersion", [&] { return version(out); });
}
int hipGetDeviceCount(int* count) {
    return entry("hipGetDeviceCount", [&] {
        if (!count) return hipErrorInvalidValue;
        *count = static_cast<int>(devices().size());
        return *count == 0 ? hipErrorNoDevice : hipSuccess;
    });
}
int hipGetDevice(int* device) {
    return entry("hipGetDevice", [&] { return set(device, current_number()); });
}
int hipSetDevice(int device) {
    return entry("hipSetDevice", [&] { return make_current(device); });
}
int hipDeviceGet(int* device, int ordinal) {
    return entry("hipDeviceGet", [&] {
        if (!device) return hipErrorInvalidValue;
        return device_at(ordinal) ? set(device, ordinal) : hipErrorInvalidDevice;
    });
}
int hipDeviceSynchronize() {
    return entry("hipDeviceSynchronize", [] {
        if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
        return wait_for_device(current(), HostClock::wakes);
    });
}
int hipDeviceReset() {
    if (lost() != hipSuccess) lose(hipSuccess);
    return entry("hipDeviceReset", [] { return reset(); });
}
int hipGetDeviceFlags(unsigned* out) {
    return entry("hipGetDeviceFlags", [&] { return set(out, flags_of(current())); });
}
int hipSetDeviceFlags(unsigned wanted) {
    return entry("hipSetDeviceFlags", [&] {
        const unsigned schedule = wanted & kScheduleMask;
        if (wanted & ~kAllFlags || (schedule & (schedule - 1))) return hipErrorInvalidValue;
        set_flags(current(), schedule);
        return hipSuccess;
    });
}
int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return entry("hipDeviceGetStreamPriorityRange", [&] {
        if (least) *least = 1;
        if (greatest) *greatest = -1;
        return hipSuccess;
    });
}
int hipDeviceGetLimit(size_t* value, int limit) {
    return entry("hipDeviceGetLimit", [&] { return tell_limit(value, limit); });
}
int hipDeviceSetLimit(int limit, size_t value) {
    return entry("hipDeviceSetLimit", [&] { return set_limit(limit, value); });
}
int hipDeviceGetCacheConfig(int* config) {
    return entry("hipDeviceGetCacheConfig", [&] { return set(config, 0); });
}
int hipDeviceSetCacheConfig(int config) {  // no card of AMD's heeds it
    return entry("hipDeviceSetCacheConfig",
                 [&] { return config < 0 || config > 3 ? hipErrorInvalidValue : hipSuccess; });
}
int hipDeviceGetSharedMemConfig(int* config) {
    return entry("hipDeviceGetSharedMemConfig", [&] { return set(config, 1); });  // banks of four bytes
}
int hipDeviceSetSharedMemConfig(int config) {
    return entry("hipDeviceSetSharedMemConfig",
                 [&] { return config < 0 || config > 2 ? hipErrorInvalidValue : hipSuccess; });
}
