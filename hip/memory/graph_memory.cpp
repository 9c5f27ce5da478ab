// Memory of nodes that allocate: the device gives it when the node is made, graphs count it while it is taken.
#include "strata/hip/memory/graph_memory.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

struct Usage {
    uint64_t now = 0, most = 0;
};
struct GraphMemories {
    Mutex mutex;
    std::map<DevicePtr, std::weak_ptr<GraphMemory>> all;
    std::map<DevicePtr, SharedGraphMemory> taken;
    std::map<int, Usage> usage;  ///< by device
};
GraphMemories& memories() {
    static auto* all = new GraphMemories;
    return *all;
}

/// hipGraphMemAttributeType. Graphs reserve just the memory that they use: nothing is kept back.
enum Attribute { used_now, used_most, reserved_now, reserved_most };

Code access_usage(int number, int attribute, void* value, bool writes) {
    const std::optional<int> device = device_at(number);
    if (!device) return hipErrorInvalidDevice;
    if (!value || attribute < used_now || attribute > reserved_most) return hipErrorInvalidValue;
    const bool most = attribute == used_most || attribute == reserved_most;
    auto& own = *static_cast<uint64_t*>(value);
    std::lock_guard lock(memories().mutex);
    Usage& usage = memories().usage[*device];
    if (!writes) return set(&own, most ? usage.most : usage.now);
    if (!most || own != 0) return hipErrorInvalidValue;
    usage.most = usage.now;
    return hipSuccess;
}

/// Which devices may use it: its own alone.
Code check_access(const AllocationParameters& wanted) {
    if (!wanted.access_count) return hipSuccess;
    if (!wanted.access || wanted.access_count > devices().size()) return hipErrorInvalidValue;
    constexpr int kOfDevice = 1, kReads = 1, kReadsAndWrites = 3;
    for (size_t i = 0; i < wanted.access_count; ++i) {
        const AccessDescription& one = wanted.access[i];
        if (one.location.kind != kOfDevice || !device_at(one.location.device)) return hipErrorInvalidValue;
        if (one.access != kReads && one.access != kReadsAndWrites) return hipErrorInvalidValue;
        if (one.location.device != wanted.pool.device) return hipErrorNotSupported;
    }
    return hipSuccess;
}

Code parameters_of_allocation(const void* handle, void* out) {
    const Node* const node = node_of(handle);
    const auto* const own = node ? node->details.get_if<Allocation>() : nullptr;
    return own ? set(static_cast<AllocationParameters*>(out), own->memory->parameters) : hipErrorInvalidValue;
}

Code parameters_of_freeing(const void* handle, void* out) {
    const Node* const node = node_of(handle);
    const auto* const own = node ? node->details.get_if<Freeing>() : nullptr;
    return own ? set(static_cast<void**>(out), own->memory->parameters.memory) : hipErrorInvalidValue;
}

}  // namespace

GraphMemory::~GraphMemory() {
    if (!parameters.memory) return;
    {
        std::lock_guard lock(memories().mutex);
        memories().all.erase(address(parameters.memory));
    }
    (void)release(parameters.memory);
}

Code allocate_for_graph(const AllocationParameters& wanted, SharedGraphMemory& out) {
    constexpr int kPinned = 1, kOfDevice = 1;
    const PoolProperties& pool = wanted.pool;
    const std::optional<int> device = device_at(pool.device);
    if (pool.kind != kPinned || pool.location_kind != kOfDevice || !device || !wanted.bytes)
        return hipErrorInvalidValue;
    if (const Code code = check_access(wanted); code != hipSuccess) return code;
    auto made = std::make_shared<GraphMemory>();
    made->device = *device;
    made->parameters = wanted;
    made->parameters.memory = nullptr;
    const Code code = allocate(*device, wanted.bytes, MemoryKind::device, 0, &made->parameters.memory);
    if (code != hipSuccess) return code;
    std::lock_guard lock(memories().mutex);
    memories().all[address(made->parameters.memory)] = made;
    out = std::move(made);
    return hipSuccess;
}

SharedGraphMemory graph_memory_at(const void* memory) {
    std::lock_guard lock(memories().mutex);
    const auto found = memories().all.find(address(memory));
    return found == memories().all.end() ? nullptr : found->second.lock();
}

Code take_graph_memory(const SharedGraphMemory& memory) {
    std::lock_guard lock(memories().mutex);
    if (!memories().taken.try_emplace(address(memory->parameters.memory), memory).second) return hipErrorInvalidValue;
    Usage& usage = memories().usage[memory->device];
    usage.now += memory->parameters.bytes;
    usage.most = std::max(usage.most, usage.now);
    return hipSuccess;
}

std::optional<Code> free_graph_memory(const void* memory) {
    SharedGraphMemory last;  // of the device from when the lock is free
    std::lock_guard lock(memories().mutex);
    if (!memories().all.contains(address(memory))) return {};
    const auto found = memories().taken.find(address(memory));
    if (found == memories().taken.end()) return hipErrorInvalidValue;
    last = std::move(found->second);
    memories().taken.erase(found);
    memories().usage[last->device].now -= last->parameters.bytes;
    return hipSuccess;
}

Code perform(Stream&, const Allocation& what) { return take_graph_memory(what.memory); }
Code perform(Stream&, const Freeing& what) {
    return free_graph_memory(what.memory->parameters.memory).value_or(hipErrorInvalidValue);
}

Code allocation_details(void* parameters, Details& out) {
    if (!parameters) return hipErrorInvalidValue;
    auto& wanted = *static_cast<AllocationParameters*>(parameters);
    Allocation own;
    if (const Code code = allocate_for_graph(wanted, own.memory); code != hipSuccess) return code;
    wanted.memory = own.memory->parameters.memory;
    out = std::move(own);
    return hipSuccess;
}

Code freeing_details(const Graph& graph, const void* memory, Details& out) {
    const SharedGraphMemory own = graph_memory_at(memory);
    const bool twice = std::ranges::any_of(graph.nodes, [&](const std::unique_ptr<Node>& node) {
        const auto* const other = node->details.get_if<Freeing>();
        return other && other->memory == own;
    });
    if (!own || twice) return hipErrorInvalidValue;
    out = Freeing{own};
    return hipSuccess;
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphMemAllocNodeGetParams(void* node, void* out) {
    return entry("hipGraphMemAllocNodeGetParams", [&] { return parameters_of_allocation(node, out); });
}
int hipGraphMemFreeNodeGetParams(void* node, void* out) {
    return entry("hipGraphMemFreeNodeGetParams", [&] { return parameters_of_freeing(node, out); });
}
int hipDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
    return entry("hipDeviceGetGraphMemAttribute", [&] { return access_usage(device, attribute, value, false); });
}
int hipDeviceSetGraphMemAttribute(int device, int attribute, void* value) {
    return entry("hipDeviceSetGraphMemAttribute", [&] { return access_usage(device, attribute, value, true); });
}
int hipDeviceGraphMemTrim(int device) {
    return entry("hipDeviceGraphMemTrim", [&] { return device_at(device) ? hipSuccess : hipErrorInvalidDevice; });
}
