#include "strata/hip/api/exports.h"
#include "strata/hip/api/host_access.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/stream/stream.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

// hipHostAllocPortable, ...Mapped, ...WriteCombined; of others of hipHostMalloc's, hipHostMallocCoherent and
// ...NonCoherent are not both.
constexpr unsigned kAllocFlags = 7;
constexpr unsigned kBothCoherences = 0x40000000 | 0x80000000;
constexpr unsigned kRegisterFlags = 0xf | 0x80000000;

Code allocate_on_host(void** memory, size_t bytes, unsigned flags) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!memory || (flags & kBothCoherences) == kBothCoherences) return hipErrorInvalidValue;
    return allocate(current(), bytes, MemoryKind::host, flags, memory);
}

Code release_of_host(void* memory) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!memory) return hipSuccess;
    const std::optional<Block> block = block_of(memory);
    if (!block || block->kind != MemoryKind::host) return hipErrorInvalidValue;
    if (const Code code = wait_for_device(block->device); code != hipSuccess) return code;
    return release(memory);
}

Code register_memory(void* memory, size_t bytes, unsigned flags) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!memory || bytes == 0 || flags & ~kRegisterFlags) return hipErrorInvalidValue;
    if (bytes > SIZE_MAX - address(memory)) return hipErrorInvalidValue;
    if (overlaps_block(memory, bytes)) return hipErrorHostMemoryAlreadyRegistered;
    const HostAccess access = host_access(memory, bytes);
    if (!access.readable) return hipErrorInvalidValue;
    for (size_t i = 0; i < devices().size(); ++i) {
        const Code code = code_of(emulator().map_host(devices()[i], memory, bytes, access.writable),
                                  hipErrorHostMemoryAlreadyRegistered);
        if (code == hipSuccess) continue;
        while (i-- > 0) (void)emulator().unmap_host(devices()[i], memory);
        return code;
    }
    note({address(memory), bytes, current(), MemoryKind::registered, flags});
    return hipSuccess;
}

Code unregister_memory(void* memory) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!memory) return hipErrorInvalidValue;
    const std::optional<Block> block = block_of(memory);
    if (!block || block->kind != MemoryKind::registered || block->start != address(memory))
        return hipErrorHostMemoryNotRegistered;
    if (const Code code = wait_for_device(block->device); code != hipSuccess) return code;
    if (!take_note(block->start)) return hipErrorHostMemoryNotRegistered;  // another thread was first
    for (const int device : devices()) (void)emulator().unmap_host(device, memory);
    return hipSuccess;
}

}  // namespace

int hipHostMalloc(void** memory, size_t bytes, unsigned flags) {
    return entry("hipHostMalloc", [&] { return allocate_on_host(memory, bytes, flags); });
}
int hipHostAlloc(void** memory, size_t bytes, unsigned flags) {
    return entry("hipHostAlloc",
                 [&] { return flags > kAllocFlags ? hipErrorInvalidValue : allocate_on_host(memory, bytes, flags); });
}
int hipMallocHost(void** memory, size_t bytes) {
    return entry("hipMallocHost", [&] { return allocate_on_host(memory, bytes, 0); });
}
int hipMemAllocHost(void** memory, size_t bytes) {
    return entry("hipMemAllocHost", [&] { return allocate_on_host(memory, bytes, 0); });
}
int hipHostFree(void* memory) {
    return entry("hipHostFree", [&] { return release_of_host(memory); });
}
int hipFreeHost(void* memory) {
    return entry("hipFreeHost", [&] { return release_of_host(memory); });
}
int hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return entry("hipHostGetDevicePointer", [&] {
        if (!device || flags) return hipErrorInvalidValue;
        *device = nullptr;
        const std::optional<Block> block = block_of(host);
        if (!block || !(block->of_host() || block->kind == MemoryKind::managed)) return hipErrorInvalidValue;
        *device = host;  // one address for both
        return hipSuccess;
    });
}
int hipHostGetFlags(unsigned* flags, void* host) {
    return entry("hipHostGetFlags", [&] {
        const std::optional<Block> block = block_of(host);
        if (!block || !block->of_host()) return hipErrorInvalidValue;
        return set(flags, block->flags);
    });
}
int hipHostRegister(void* memory, size_t bytes, unsigned flags) {
    return entry("hipHostRegister", [&] { return register_memory(memory, bytes, flags); });
}
int hipHostUnregister(void* memory) {
    return entry("hipHostUnregister", [&] { return unregister_memory(memory); });
}
