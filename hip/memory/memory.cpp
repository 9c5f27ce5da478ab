#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/stream/stream.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

constexpr size_t kPitch = 256;          // rows begin at multiples of it
constexpr unsigned kManagedGlobal = 1;  // hipMemAttachGlobal

/// Rows of `width` bytes, each at a multiple of the pitch.
Code allocate_rows(void** memory, size_t* pitch, size_t width, size_t rows) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!memory || !pitch) return hipErrorInvalidValue;
    if (width > SIZE_MAX - kPitch) return hipErrorInvalidValue;
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    if (rows && *pitch > SIZE_MAX / rows) return hipErrorOutOfMemory;
    return allocate(current(), *pitch * rows, MemoryKind::device, 0, memory);
}

}  // namespace

int hipMemGetInfo(size_t* free, size_t* total) {
    return entry("hipMemGetInfo", [&] {
        if (total) *total = query(current()).memory_bytes;
        if (free) *free = free_bytes(current());
        return hipSuccess;
    });
}
int hipMalloc(void** memory, size_t bytes) {
    return entry("hipMalloc", [&] {
        if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
        return allocate(current(), bytes, MemoryKind::device, 0, memory);
    });
}
int hipExtMallocWithFlags(void** memory, size_t bytes, unsigned flags) {
    return entry("hipExtMallocWithFlags", [&] {
        // hipDeviceMallocDefault, ...FinegrainedMemory, hipMallocSignalMemory (of eight bytes), ...Uncached,
        // ...Contiguous.
        constexpr unsigned kSignal = 2, kMost = 4;
        if (flags > kMost || (flags == kSignal && bytes != 8)) return hipErrorInvalidValue;
        return allocate(current(), bytes, MemoryKind::device, flags, memory);
    });
}
int hipMallocManaged(void** memory, size_t bytes, unsigned flags) {
    return entry("hipMallocManaged", [&] {
        if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
        if (bytes == 0 || (flags != kManagedGlobal && flags != 2)) return hipErrorInvalidValue;
        return allocate(current(), bytes, MemoryKind::managed, flags, memory);
    });
}
int hipMallocPitch(void** memory, size_t* pitch, size_t width, size_t height) {
    return entry("hipMallocPitch", [&] { return allocate_rows(memory, pitch, width, height); });
}
int hipMemAllocPitch(void** memory, size_t* pitch, size_t width, size_t height, unsigned element) {
    return entry("hipMemAllocPitch", [&] {
        if (!width || !height || (element != 4 && element != 8 && element != 16)) return hipErrorInvalidValue;
        return allocate_rows(memory, pitch, width, height);
    });
}
int hipMalloc3D(PitchedPointer* memory, Extent extent) {
    return entry("hipMalloc3D", [&] {
        if (!memory) return hipErrorInvalidValue;
        if (extent.depth && extent.height > SIZE_MAX / extent.depth) return hipErrorOutOfMemory;
        *memory = {nullptr, 0, extent.width, extent.height};
        return allocate_rows(&memory->memory, &memory->pitch, extent.width, extent.height * extent.depth);
    });
}
int hipFree(void* memory) {
    return entry("hipFree", [&] {
        if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
        if (const Code code = wait_for_device(current()); code != hipSuccess) return code;
        return memory ? release(memory) : hipSuccess;
    });
}
