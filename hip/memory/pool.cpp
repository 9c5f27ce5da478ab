// Memory pools: memory comes and goes when the call is made, as all work of a stream does; pools count it.
#include <algorithm>
#include <map>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/graph_memory.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

struct Pool {
    int device = 0;  ///< as the emulator counts
    std::map<int, uint64_t> attributes = {};
};
/// hipMemPoolAttr: the first three are ints, the others 64 bits wide.
enum Attribute {
    follow_events = 1,
    opportunistic,
    internal,
    threshold,
    reserved_now,
    reserved_most,
    used_now,
    used_most
};

struct Pools {
    Mutex mutex;
    std::map<void*, std::unique_ptr<Pool>> all;
    std::map<int, Pool*> defaults, current;  ///< by device
};
Pools& pools() {
    static auto* all = new Pools;
    return *all;
}

Pool* add_pool(int device) {
    auto pool = std::make_unique<Pool>(Pool{device});
    for (const int reuse : {follow_events, opportunistic, internal}) pool->attributes[reuse] = 1;
    Pool* const handle = pool.get();
    pools().all[handle] = std::move(pool);
    return handle;
}
Pool* default_of(int device) {
    Pool*& own = pools().defaults[device];
    if (!own) own = add_pool(device);
    return own;
}
Pool* current_of(int device) {
    Pool* const chosen = pools().current[device];
    return chosen ? chosen : default_of(device);
}
Pool* pool_of(void* handle) {
    const auto found = pools().all.find(handle);
    return found == pools().all.end() ? nullptr : found->second.get();
}

void count(Pool& pool, int64_t bytes) {
    for (const auto& [now, most] : {std::pair(used_now, used_most), {reserved_now, reserved_most}}) {
        pool.attributes[now] += static_cast<uint64_t>(bytes);
        pool.attributes[most] = std::max(pool.attributes[most], pool.attributes[now]);
    }
}

/// A node that takes memory of the pool's device.
Code record_taking(Stream& stream, const Pool& pool, size_t bytes, void** out) {
    constexpr int kPinned = 1, kOfDevice = 1;
    AllocationParameters wanted{.pool = {kPinned, 0, kOfDevice, number_of(pool.device), nullptr, {}}, .bytes = bytes};
    Details details;
    Code code = allocation_details(&wanted, details);
    if (code == hipSuccess) code = record(stream, NodeType::allocate, std::move(details));
    if (code == hipSuccess) *out = wanted.memory;
    return code;
}

Code take(void** out, size_t bytes, void* handle, void* stream_handle) {
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (!stream) return hipErrorInvalidHandle;
    std::lock_guard lock(pools().mutex);
    Pool* const pool = handle ? pool_of(handle) : current_of(stream->device);
    if (!pool || !out) return hipErrorInvalidValue;
    if (stream->records) return record_taking(*stream, *pool, bytes, out);
    const Code code = allocate(pool->device, bytes, MemoryKind::device, 0, out, pool);
    if (code == hipSuccess && *out) count(*pool, static_cast<int64_t>(bytes));
    return code;
}

Code give_back(void* memory, void* stream_handle) {
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (!memory) return hipErrorInvalidValue;
    if (!stream) return hipErrorInvalidHandle;
    const std::shared_ptr<Capture> capture = capture_of(*stream);
    if (!capture) {
        if (held_back == 0) return release(memory);
        const std::optional<Block> block = block_of(memory);
        if (!block || block->start != address(memory)) return hipErrorInvalidValue;
        return in_order(*stream, [memory](Stream&) { return release(memory); });
    }
    Details details;
    const Code code = freeing_details(*capture->graph, memory, details);
    return code == hipSuccess ? record(*stream, NodeType::free, std::move(details)) : code;
}

Code access_attribute(void* handle, int attribute, void* value, bool writes) {
    std::lock_guard lock(pools().mutex);
    Pool* const pool = pool_of(handle);
    if (!pool || !value || attribute < follow_events || attribute > used_most) return hipErrorInvalidValue;
    uint64_t& own = pool->attributes[attribute];
    const bool narrow = attribute < threshold;
    if (!writes) return narrow ? set(static_cast<int*>(value), own) : set(static_cast<uint64_t*>(value), own);
    if (attribute == reserved_now || attribute == used_now) return hipErrorInvalidValue;
    const uint64_t wanted = narrow ? static_cast<uint64_t>(*static_cast<int*>(value)) : *static_cast<uint64_t*>(value);
    if ((attribute == reserved_most || attribute == used_most) && wanted != 0) return hipErrorInvalidValue;
    own = wanted;
    return hipSuccess;
}

Code destroy(void* handle) {
    std::lock_guard lock(pools().mutex);
    const Pool* const pool = pool_of(handle);
    if (!pool || pools().defaults[pool->device] == pool) return hipErrorInvalidValue;
    if (pools().current[pool->device] == pool) pools().current.erase(pool->device);
    pools().all.erase(handle);
    return hipSuccess;
}

template <class Find>
Code pool_of_device(void** out, int number, Find&& find, Code otherwise = hipErrorInvalidValue) {
    if (!out) return hipErrorInvalidValue;
    const std::optional<int> device = device_at(number);
    if (!device) return otherwise;
    std::lock_guard lock(pools().mutex);
    *out = find(*device);
    return hipSuccess;
}

}  // namespace

void count_returned(const Block& block) {
    if (!block.pool) return;
    std::lock_guard lock(pools().mutex);
    if (Pool* const pool = pool_of(block.pool)) count(*pool, -static_cast<int64_t>(block.bytes));
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMallocAsync(void** memory, size_t bytes, void* stream) {
    return entry("hipMallocAsync", [&] { return take(memory, bytes, nullptr, stream); });
}
int hipMallocFromPoolAsync(void** memory, size_t bytes, void* pool, void* stream) {
    return entry("hipMallocFromPoolAsync",
                 [&] { return pool ? take(memory, bytes, pool, stream) : hipErrorInvalidValue; });
}
int hipFreeAsync(void* memory, void* stream) {
    return entry("hipFreeAsync", [&] { return give_back(memory, stream); });
}
int hipDeviceGetDefaultMemPool(void** pool, int device) {
    return entry("hipDeviceGetDefaultMemPool",
                 [&] { return pool_of_device(pool, device, default_of, hipErrorInvalidDevice); });
}
int hipDeviceGetMemPool(void** pool, int device) {
    return entry("hipDeviceGetMemPool", [&] { return pool_of_device(pool, device, current_of); });
}
int hipDeviceSetMemPool(int device, void* handle) {
    return entry("hipDeviceSetMemPool", [&] {
        std::lock_guard lock(pools().mutex);
        Pool* const pool = pool_of(handle);
        if (!device_at(device) || !pool) return hipErrorInvalidValue;
        if (pool->device != *device_at(device)) return hipErrorInvalidDevice;
        pools().current[pool->device] = pool;
        return hipSuccess;
    });
}
int hipMemPoolCreate(void** pool, const void* properties) {
    return entry("hipMemPoolCreate", [&] {
        constexpr int kPinned = 1, kOfDevice = 1;
        const auto* const p = static_cast<const PoolProperties*>(properties);
        if (!pool || !p || p->kind != kPinned || p->location_kind != kOfDevice) return hipErrorInvalidValue;
        return pool_of_device(pool, p->device, add_pool);
    });
}
int hipMemPoolDestroy(void* pool) {
    return entry("hipMemPoolDestroy", [&] { return destroy(pool); });
}
int hipMemPoolTrimTo(void* pool, size_t) {
    return entry("hipMemPoolTrimTo", [&] {
        std::lock_guard lock(pools().mutex);
        return pool_of(pool) ? hipSuccess : hipErrorInvalidValue;  // nothing is kept back
    });
}
int hipMemPoolSetAttribute(void* pool, int attribute, void* value) {
    return entry("hipMemPoolSetAttribute", [&] { return access_attribute(pool, attribute, value, true); });
}
int hipMemPoolGetAttribute(void* pool, int attribute, void* value) {
    return entry("hipMemPoolGetAttribute", [&] { return access_attribute(pool, attribute, value, false); });
}
