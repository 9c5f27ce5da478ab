#include <algorithm>

#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

/// hipMemoryType: HIP 6 gave it CUDA's numbers.
int type_of(const Block& block) {
    const bool as_cuda = major_version() >= 6;
    if (block.of_host()) return as_cuda ? 1 : 0;
    if (block.kind == MemoryKind::managed) return as_cuda ? 3 : 1;
    return as_cuda ? 2 : 1;
}

Code attributes_of(const void* pointer, PointerAttributes* out) {
    if (!out || !pointer) return hipErrorInvalidValue;
    const std::optional<Block> block = block_of(pointer);
    auto* const here = const_cast<void*>(pointer);
    if (!block) {
        if (major_version() < 6) return hipErrorInvalidValue;
        *out = {0, -2, nullptr, nullptr, 0, 0};  // hipMemoryTypeUnregistered, hipInvalidDeviceId
        return hipSuccess;
    }
    const bool for_host = block->of_host() || block->kind == MemoryKind::managed;
    *out = {type_of(*block),           number_of(block->device),           here,
            for_host ? here : nullptr, block->kind == MemoryKind::managed, block->flags};
    return hipSuccess;
}

/// hipPointer_attribute.
enum Wanted {
    context = 1,
    memory_type,
    device_pointer,
    host_pointer,
    is_managed = 8,
    ordinal,
    start = 11,
    size,
    mapped
};

Code one_attribute(void* out, int wanted, void* pointer) {
    if (!out) return hipErrorInvalidValue;
    const std::optional<Block> block = block_of(pointer);
    if (!block) return hipErrorInvalidValue;
    PointerAttributes all{};
    (void)attributes_of(pointer, &all);
    switch (wanted) {
        case memory_type: return set(static_cast<unsigned*>(out), all.type);
        case device_pointer: return set(static_cast<void**>(out), all.on_device);
        case host_pointer:
            *static_cast<void**>(out) = all.on_host;
            return all.on_host ? hipSuccess : hipErrorInvalidValue;
        case is_managed: return set(static_cast<bool*>(out), all.managed != 0);
        case ordinal: return set(static_cast<int*>(out), all.device);
        case start: return set(static_cast<DevicePtr*>(out), block->start);
        case size: return set(static_cast<size_t*>(out), block->bytes);
        case mapped: return set(static_cast<bool*>(out), true);
        default: return hipErrorNotSupported;
    }
}

/// hipMemoryAdvise: six of CUDA's, the first two of which mean no device, and hipMemAdviseSetCoarseGrain and
/// ...UnsetCoarseGrain.
constexpr int kUnsetReadMostly = 2;
bool is_advice(int advice) { return (advice >= 1 && advice <= 6) || advice == 100 || advice == 101; }
/// A device, or hipCpuDeviceId.
bool is_place(int device) { return device == -1 || device_at(device); }

/// True if bytes lie in one block that both the host and devices use.
Code check_managed(const void* memory, size_t bytes) {
    const std::optional<Block> block = block_of(memory);
    if (!block || bytes == 0 || bytes > block->bytes_from(address(memory))) return hipErrorInvalidValue;
    return block->kind != MemoryKind::device ? hipSuccess : hipErrorInvalidValue;  // a variable may be a managed one
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipPointerGetAttributes(void* attributes, const void* pointer) {
    return entry("hipPointerGetAttributes",
                 [&] { return attributes_of(pointer, static_cast<PointerAttributes*>(attributes)); });
}
int hipPointerGetAttribute(void* value, int attribute, void* pointer) {
    return entry("hipPointerGetAttribute", [&] { return one_attribute(value, attribute, pointer); });
}
int hipDrvPointerGetAttributes(unsigned count, int* attributes, void** values, void* pointer) {
    return entry("hipDrvPointerGetAttributes", [&] {
        if (!attributes || !values || !count || !pointer) return hipErrorInvalidValue;
        for (unsigned i = 0; i < count; ++i)
            if (one_attribute(values[i], attributes[i], pointer) == hipErrorNotSupported) return hipErrorNotSupported;
        return hipSuccess;
    });
}
int hipMemGetAddressRange(void** base, size_t* bytes, void* pointer) {
    return entry("hipMemGetAddressRange", [&] {
        const std::optional<Block> block = block_of(pointer);
        if (!block) return hipErrorNotFound;
        if (base) *base = reinterpret_cast<void*>(block->start);
        if (bytes) *bytes = block->bytes;
        return hipSuccess;
    });
}
int hipMemPtrGetInfo(void* pointer, size_t* bytes) {
    return entry("hipMemPtrGetInfo", [&] {
        const std::optional<Block> block = block_of(pointer);
        return block ? set(bytes, block->bytes) : hipErrorInvalidValue;
    });
}
int hipMemAdvise(const void* memory, size_t bytes, int advice, int device) {
    return entry("hipMemAdvise", [&] {
        if (advice > kUnsetReadMostly && !is_place(device)) return hipErrorInvalidDevice;
        return is_advice(advice) ? check_managed(memory, bytes) : hipErrorInvalidValue;
    });
}
int hipMemPrefetchAsync(const void* memory, size_t bytes, int device, void* stream) {
    return entry("hipMemPrefetchAsync", [&] {
        if (!stream_of(stream)) return hipErrorContextIsDestroyed;
        return is_place(device) ? check_managed(memory, bytes) : hipErrorInvalidDevice;
    });
}
int hipStreamAttachMemAsync(void* stream, void* memory, size_t bytes, unsigned flags) {
    return entry("hipStreamAttachMemAsync", [&] {
        constexpr unsigned kGlobal = 1, kHost = 2, kSingle = 4;  // hipMemAttachGlobal, ...
        if (!memory) return hipErrorInvalidValue;
        if (!stream_of(stream)) return hipErrorContextIsDestroyed;
        if (flags != kGlobal && flags != kHost && flags != kSingle) return hipErrorInvalidValue;
        if (flags == kSingle && !stream) return hipErrorInvalidValue;
        const std::optional<Block> block = block_of(memory);
        if (block && bytes && bytes != block->bytes) return hipErrorInvalidValue;  // all of it, or 0 for that
        return check_managed(memory, 1);
    });
}
