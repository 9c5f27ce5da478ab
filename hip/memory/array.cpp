#include "strata/hip/memory/array.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

constexpr ElementFormat kFormats[] = {
#define FORMAT(...) {__VA_ARGS__},
#include "strata/hip/memory/texture_formats.def"
#undef FORMAT
};

struct Arrays {
    Mutex mutex;
    std::unordered_map<const void*, std::unique_ptr<OwnArray>> all;
};
Arrays& arrays() {
    static auto* all = new Arrays;
    return *all;
}

constexpr size_t kMostTexels = 16384, kMostSlices = 8192;

/// Which images there are: a height of zero is a line, a depth of zero a line or a plane.
bool is_shape(const Array3dDescriptor& d) {
    if (d.width == 0 || d.width > kMostTexels || d.height > kMostTexels || d.depth > kMostSlices) return false;
    return d.flags & kLayered ? d.depth != 0 : d.height != 0 || d.depth == 0;
}

size_t up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

/// Linear, as the emulator reads images. AMD's addrlib has rows at multiples of 256 bytes, GFX12's at multiples of 128
/// in slices as of 256 (ROCR-Runtime, addrlib of gfx11 and gfx12).
void lay_out(OwnArray& array) {
    constexpr size_t kRow = 256, kRowOfGfx12 = 128;
    const bool is_gfx12 = query(array.device).arch.starts_with("gfx12");
    array.pitch = up(array.row_bytes(), is_gfx12 ? kRowOfGfx12 : kRow);
    array.slice = up(array.row_bytes(), kRow) * array.rows();
}

Code create(void** out, const Array3dDescriptor& d) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    const ElementFormat* const element = format_of(d.format);
    const bool countable = d.count == 1 || d.count == 2 || d.count == 4;
    if (!out || !element || !countable || d.flags & ~(kLayered | kForSurfaces | kForGather))
        return hipErrorInvalidValue;
    if (d.flags & kForGather && (d.height == 0 || d.depth != 0)) return hipErrorInvalidValue;
    if (!is_shape(d)) return hipErrorInvalidValue;
    if (!has_images(current())) return hipErrorNotSupported;
    auto array = std::make_unique<OwnArray>();
    static_cast<Array&>(*array) = {.memory = nullptr,
                                   .channels = channels_of(*element, d.count),
                                   .type = 0,
                                   .width = static_cast<unsigned>(d.width),
                                   .height = static_cast<unsigned>(d.height),
                                   .depth = static_cast<unsigned>(d.depth),
                                   .format = d.format,
                                   .count = d.count,
                                   .of_driver = false,
                                   .texture_type = 0};
    array->flags = d.flags;
    array->device = current();
    array->element = element;
    lay_out(*array);
    const Code code = allocate(array->device, array->slice * array->slices(), MemoryKind::device, 0, &array->memory);
    if (code != hipSuccess) return code;
    std::lock_guard lock(arrays().mutex);
    *out = static_cast<Array*>(array.get());
    arrays().all[*out] = std::move(array);
    return hipSuccess;
}

Code create(void** out, const void* channels, const Extent& extent, unsigned flags) {
    if (!out || !channels) return hipErrorInvalidValue;
    const ElementFormat* element = nullptr;
    unsigned count = 0;
    const Code code = format_of(*static_cast<const ChannelFormat*>(channels), element, count);
    if (code != hipSuccess) return code;
    return create(out, {extent.width, extent.height, extent.depth, element->code, count, flags});
}

Code destroy(void* handle) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!handle) return hipErrorInvalidValue;
    const OwnArray* const array = array_at(handle);
    if (!array) return hipErrorContextIsDestroyed;
    if (const Code code = wait_for_device(array->device); code != hipSuccess) return code;
    std::unique_lock lock(arrays().mutex);
    const auto gone = arrays().all.extract(handle);
    lock.unlock();
    return gone ? release(gone.mapped()->memory) : hipErrorContextIsDestroyed;  // another thread was first
}

Code describe(void* handle, const void* out, Array3dDescriptor& is) {
    if (refused_by_capture()) return hipErrorStreamCaptureUnsupported;
    if (!handle) return hipErrorInvalidHandle;
    if (!out) return hipErrorInvalidValue;
    const OwnArray* const array = array_at(handle);
    if (!array) return hipErrorInvalidHandle;
    is = {array->width, array->height, array->depth, array->format, array->count, array->flags};
    return hipSuccess;
}

}  // namespace

const ElementFormat* format_of(int code) {
    const auto* const found = std::ranges::find(kFormats, code, &ElementFormat::code);
    return found == std::end(kFormats) ? nullptr : found;
}

Code format_of(const ChannelFormat& channels, const ElementFormat*& out, unsigned& count) {
    const int widths[] = {channels.x, channels.y, channels.z, channels.w};
    count = static_cast<unsigned>(std::ranges::count_if(widths, [](int bits) { return bits != 0; }));
    for (unsigned i = 0; i < 4; ++i)
        if (widths[i] != (i < count ? widths[0] : 0)) return hipErrorInvalidValue;
    const auto* const found = std::ranges::find_if(
        kFormats, [&](const ElementFormat& f) { return f.bits == channels.x && f.kind == channels.kind; });
    if (found == std::end(kFormats)) return hipErrorInvalidValue;
    out = found;
    return count == 3 ? hipErrorInvalidValue : hipSuccess;
}

ChannelFormat channels_of(const ElementFormat& f, unsigned count) {
    const auto width = [&](unsigned channel) { return channel < count ? f.bits : 0; };
    return {width(0), width(1), width(2), width(3), f.kind};
}

const OwnArray* array_at(const void* handle) {
    std::lock_guard lock(arrays().mutex);
    const auto found = arrays().all.find(handle);
    return found == arrays().all.end() ? nullptr : found->second.get();
}

void forget_arrays(int device) {
    std::lock_guard lock(arrays().mutex);
    std::erase_if(arrays().all, [&](const auto& one) { return one.second->device == device; });
}

bool has_images(int device) {
    const Result<isa::Arch> arch = isa::parse_arch(query(device).arch);
    return arch && !is_cdna(isa::info(*arch).family);
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

ChannelFormat hipCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

int hipMallocArray(void** array, const void* channels, size_t width, size_t height, unsigned flags) {
    return entry("hipMallocArray", [&] { return create(array, channels, {width, height, 0}, flags); });
}
int hipMalloc3DArray(void** array, const void* channels, Extent extent, unsigned flags) {
    return entry("hipMalloc3DArray", [&] { return create(array, channels, extent, flags); });
}
int hipArrayCreate(void** array, const void* descriptor) {
    return entry("hipArrayCreate", [&] {
        if (!descriptor) return hipErrorInvalidValue;
        const auto& d = *static_cast<const ArrayDescriptor*>(descriptor);
        return create(array, {d.width, d.height, 0, d.format, d.count, 0});
    });
}
int hipArray3DCreate(void** array, const void* descriptor) {
    return entry("hipArray3DCreate", [&] {
        return descriptor ? create(array, *static_cast<const Array3dDescriptor*>(descriptor)) : hipErrorInvalidValue;
    });
}
int hipFreeArray(void* array) {
    return entry("hipFreeArray", [&] { return destroy(array); });
}
int hipArrayDestroy(void* array) {
    return entry("hipArrayDestroy", [&] { return destroy(array); });
}
int hipArrayGetInfo(void* channels, Extent* extent, unsigned* flags, void* array) {
    return entry("hipArrayGetInfo", [&] {
        if (array && !channels && !extent && !flags && !refused_by_capture()) return hipSuccess;
        Array3dDescriptor is{};
        if (const Code code = describe(array, &is, is); code != hipSuccess) return code;
        if (channels) *static_cast<ChannelFormat*>(channels) = channels_of(*format_of(is.format), is.count);
        if (extent) *extent = {is.width, is.height, is.depth};
        if (flags) *flags = is.flags;
        return hipSuccess;
    });
}
int hipArrayGetDescriptor(void* descriptor, void* array) {
    return entry("hipArrayGetDescriptor", [&] {
        Array3dDescriptor is{};
        const Code code = describe(array, descriptor, is);
        if (code != hipSuccess) return code;
        return set(static_cast<ArrayDescriptor*>(descriptor),
                   ArrayDescriptor{is.width, is.height, is.format, is.count});
    });
}
int hipArray3DGetDescriptor(void* descriptor, void* array) {
    return entry("hipArray3DGetDescriptor", [&] {
        Array3dDescriptor is{};
        const Code code = describe(array, descriptor, is);
        return code == hipSuccess ? set(static_cast<Array3dDescriptor*>(descriptor), is) : code;
    });
}
int hipGetChannelDesc(void* channels, const void* array) {
    return entry("hipGetChannelDesc", [&] {
        if (!channels) return hipErrorInvalidValue;
        const OwnArray* const own = array_at(array);
        return own ? set(static_cast<ChannelFormat*>(channels), own->channels) : hipErrorInvalidHandle;
    });
}
