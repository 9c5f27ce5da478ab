// The interpreter as a HipApi table: memory of the host, streams on which all is done at once. It has no machine code:
// runtime interprets the graphs of kernels and tensors. Device 0 is "interp", with the waves and limits of the first
// row of archs.def; then come those of the other rows.
#include "strata/providers/interpreted.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "strata/asm/isa/arch.h"
#include "strata/asm/isa/launch_limits.h"
#include "strata/core/support/mutex.h"
#include "strata/providers/providers.h"

namespace strata::providers {

struct InterpretedStream {
    int device;
};
struct InterpretedEvent {
    bool recorded = false;
};

namespace {

constexpr size_t kAlignment = 256;  // of an allocation, as hipMalloc gives it

struct Memory {
    Mutex mutex;
    std::map<DevicePtr, size_t> bytes;  ///< by address, of all devices
};
Memory& allocations() {
    static auto* all = new Memory;
    return *all;
}

StreamHandle* handle(InterpretedStream* stream) { return reinterpret_cast<StreamHandle*>(stream); }
InterpretedStream* of(StreamHandle* stream) { return reinterpret_cast<InterpretedStream*>(stream); }
InterpretedEvent* of(EventHandle* event) { return reinterpret_cast<InterpretedEvent*>(event); }

Error no_code() {
    return make_error(ErrorKind::Unsupported,
                      "the device interp interprets graphs and has no machine code: run kernels of HIP and of assembly "
                      "on emu or on a card");
}

Result<void> check_device(int device) {
    if (device >= 0 && static_cast<size_t>(device) < isa::archs().size()) return {};
    return make_error(ErrorKind::Device, "there is no interpreter {}", device);
}

/// Error where the bytes are not all in one allocation.
Result<void> check(int device, DevicePtr memory, size_t bytes) {
    if (bytes == 0 || interpreted_memory(device, memory).size() >= bytes) return {};
    return make_error(ErrorKind::Usage, "hipErrorInvalidValue: {} bytes at {:#x} are not in one allocation", bytes,
                      memory);
}

namespace calls {

Result<int> device_count() { return static_cast<int>(isa::archs().size()); }

Result<DeviceProperties> device_properties(int device) {
    STRATA_TRY_VOID(check_device(device));
    const isa::ArchInfo& arch = isa::archs()[static_cast<size_t>(device)];
    DeviceProperties p;
    p.name = "interpreter of graphs";
    p.arch = arch.name;
    p.warp_size = arch.wave_size;
    p.max_block = arch.max_block;
    p.lds_per_block = arch.lds_bytes;
    p.max_grid = isa::kMaxGrid;
    p.units = 1;
    p.memory_bytes =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));  // the host's
    return p;
}

Result<DevicePtr> malloc(int device, size_t bytes) {
    STRATA_TRY_VOID(check_device(device));
    const size_t whole = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    void* const memory = whole < bytes ? nullptr : std::aligned_alloc(kAlignment, whole);
    if (!memory) return make_error(ErrorKind::Device, "hipErrorOutOfMemory: {} bytes for the interpreter", bytes);
    std::lock_guard lock(allocations().mutex);
    const auto address = reinterpret_cast<DevicePtr>(memory);
    allocations().bytes[address] = bytes;
    return address;
}
Result<void> free(int, DevicePtr memory) {
    std::lock_guard lock(allocations().mutex);
    if (allocations().bytes.erase(memory) == 0)
        return make_error(ErrorKind::Usage, "hipErrorInvalidValue: {:#x} is no allocation", memory);
    std::free(reinterpret_cast<void*>(memory));
    return {};
}
Result<void> memcpy_to_device(int device, DevicePtr to, const void* from, size_t bytes) {
    STRATA_TRY_VOID(check(device, to, bytes));
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return {};
}
Result<void> memcpy_to_host(int device, void* to, DevicePtr from, size_t bytes) {
    STRATA_TRY_VOID(check(device, from, bytes));
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return {};
}
Result<void> memcpy_on_device(int device, DevicePtr to, DevicePtr from, size_t bytes) {
    STRATA_TRY_VOID(check(device, to, bytes));
    STRATA_TRY_VOID(check(device, from, bytes));
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return {};
}
Result<void> memset(int device, DevicePtr to, int value, size_t bytes) {
    STRATA_TRY_VOID(check(device, to, bytes));
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return {};
}

Result<ModuleHandle*> module_load(int, std::span<const uint8_t>) { return no_code(); }
Result<void> module_unload(ModuleHandle*) { return no_code(); }
Result<FunctionHandle*> module_function(ModuleHandle*, std::string_view) { return no_code(); }
Result<DeviceRange> module_global(ModuleHandle*, std::string_view) { return no_code(); }
Result<void> module_launch_kernel(FunctionHandle*, std::array<uint32_t, 3>, std::array<uint32_t, 3>, uint32_t,
                                  StreamHandle*, std::span<const uint8_t>, const LaunchRequest&, LaunchReport&) {
    return no_code();
}

Result<StreamHandle*> stream_create(int device) {
    STRATA_TRY_VOID(check_device(device));
    return handle(new InterpretedStream{device});
}
Result<StreamHandle*> stream_create_beside(int device) { return stream_create(device); }
Result<void> stream_destroy(StreamHandle* stream) {
    delete of(stream);
    return {};
}
Result<void> stream_synchronize(StreamHandle*) { return {}; }
Result<bool> stream_query(StreamHandle*) { return true; }
Result<void> stream_wait_event(StreamHandle*, EventHandle*) { return {}; }
Result<void> memcpy_async(StreamHandle* stream, CopyKind kind, uint64_t to, uint64_t from, size_t bytes) {
    const int device = of(stream)->device;
    if (kind == CopyKind::on_device) return memcpy_on_device(device, to, from, bytes);
    if (kind == CopyKind::to_host) return memcpy_to_host(device, reinterpret_cast<void*>(to), from, bytes);
    return memcpy_to_device(device, to, reinterpret_cast<const void*>(from), bytes);
}

Result<EventHandle*> event_create(int device) {
    STRATA_TRY_VOID(check_device(device));
    return reinterpret_cast<EventHandle*>(new InterpretedEvent);
}
Result<void> event_destroy(EventHandle* event) {
    delete of(event);
    return {};
}
Result<void> event_record(EventHandle* event, StreamHandle*) {
    of(event)->recorded = true;
    return {};
}
Result<void> event_synchronize(EventHandle*) { return {}; }
Result<bool> event_query(EventHandle*) { return true; }
/// No time is measured or modelled.
Result<double> event_elapsed_ms(EventHandle* start, EventHandle* stop) {
    if (of(start)->recorded && of(stop)->recorded) return 0;
    return make_error(ErrorKind::Usage,
                      "hipErrorInvalidHandle: record both events before asking for the time between them");
}

Result<GraphHandle*> graph_create(int) { return no_code(); }
Result<void> graph_destroy(GraphHandle*) { return no_code(); }
Result<void> graph_add_kernel(GraphHandle*, FunctionHandle*, std::array<uint32_t, 3>, std::array<uint32_t, 3>, uint32_t,
                              std::span<const uint8_t>) {
    return no_code();
}
Result<void> graph_set_arguments(GraphHandle*, size_t, std::span<const uint8_t>) { return no_code(); }
Result<void> graph_launch(GraphHandle*, StreamHandle*) { return no_code(); }

}  // namespace calls

std::string label(int device) {
    return device == 0 ? std::string() : std::string(isa::archs()[static_cast<size_t>(device)].name);
}
void* view_of(int, DevicePtr memory) { return reinterpret_cast<void*>(memory); }
Result<StreamHandle*> no_stream(int, uint64_t) {
    return make_error(ErrorKind::Unsupported, "the device interp has no streams of others");
}
uint64_t raw(StreamHandle* stream) { return reinterpret_cast<uint64_t>(stream); }
size_t none_pooled(int) { return 0; }

}  // namespace

std::span<uint8_t> interpreted_memory(int, DevicePtr address) {
    std::lock_guard lock(allocations().mutex);
    auto found = allocations().bytes.upper_bound(address);
    if (found == allocations().bytes.begin()) return {};
    --found;
    const size_t offset = address - found->first;
    if (offset > found->second) return {};
    return {reinterpret_cast<uint8_t*>(address), found->second - offset};
}

const HipApi& interpreted() {
    static const HipApi api = {
        .provider = "interpreted",
        .interprets = true,
#define HIP(entry, result, name, parameters) .name = calls::name,
#include "strata/providers/hip_api.def"
#undef HIP
        .device_label = label,
        .host_view = view_of,
        .stream_over = no_stream,
        .stream_raw = raw,
        .pooled_bytes = none_pooled,
    };
    return api;
}

}  // namespace strata::providers
