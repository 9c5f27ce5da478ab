// Texture objects: what they may be made of, and which of it is refused, as in hip_texture.cpp of ROCm/clr.
#include "strata/hip/texture/texture.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

constexpr size_t kMostOfLine = size_t{1} << 27,
                 kMostOfRows = 16384;  // hipDeviceProp_t's maxTexture1DLinear, maxTexture2D
enum AddressMode { kWrap, kClamp, kMirror, kBorder };

struct Textures {
    Mutex mutex;
    std::unordered_map<void*, TextureObject> all;
};
Textures& textures() {
    static auto* all = new Textures;
    return *all;
}

bool is_gfx12(int device) { return query(device).arch.starts_with("gfx12"); }

/// hipResourceViewFormat: rows of three, by how many channels there are.
Code format_of_view(int view, const ElementFormat*& out, unsigned& count) {
    constexpr int kCodes[] = {0x01, 0x08, 0x02, 0x09, 0x03, 0x0a, 0x10, 0x20}, kLast = 3 * 8;
    constexpr unsigned kCounts[] = {1, 2, 4};
    if (view < 0 || view > kLast) return hipErrorInvalidValue;  // blocks that are compressed
    if (view == 0) return hipSuccess;                           // as the array has it
    out = format_of(kCodes[(view - 1) / 3]);
    count = kCounts[(view - 1) % 3];
    return hipSuccess;
}

/// How texels of a format are read.
Code read_as(const ElementFormat& format, unsigned count, const TextureDescription& s, Texels& out) {
    constexpr int kUnsignedByte = 0x01;
    out.format = s.read == 1 ? format.as_floats : format.as_elements;
    out.count = count;
    out.srgb = s.srgb == 1 && count == 4;
    return out.srgb && (s.read != 1 || format.code != kUnsignedByte) ? hipErrorInvalidValue : hipSuccess;
}

bool is_texture_memory(const void* memory, size_t bytes) {
    const std::optional<Block> block = memory ? block_of(memory) : std::nullopt;
    return block && address(memory) % kTextureAlignment == 0 && bytes != 0 &&
           bytes <= block->bytes_from(address(memory));
}

Sampling sampling_of(const TextureDescription& s) {
    Sampling out{.linear = s.filter == 1, .normalized = s.normalized != 0};
    for (size_t axis = 0; axis < 3; ++axis) {
        const bool repeats = s.address[axis] == kWrap || s.address[axis] == kMirror;
        out.address[axis] = repeats && !s.normalized ? kClamp : s.address[axis];
    }
    return out;
}

Code words_of_array(const ResourceDescription& r, const TextureDescription& s, const ViewDescription* view,
                    ObjectWords& out) {
    const OwnArray* const array = array_at(r.array);
    if (!array) return hipErrorInvalidValue;
    const ElementFormat* format = array->element;
    unsigned count = array->count;
    Code code = view ? format_of_view(view->format, format, count) : hipSuccess;
    if (code == hipSuccess && format->bytes(count) != array->element_bytes()) code = hipErrorInvalidValue;
    Texels texels = texels_of(*array);
    if (code == hipSuccess) code = read_as(*format, count, s, texels);
    if (code == hipSuccess) out = image_object(texels, sampling_of(s), is_gfx12(array->device));
    return code;
}

Code words_of_line(const ResourceDescription& r, const TextureDescription& s, ObjectWords& out) {
    const ElementFormat* format = nullptr;
    unsigned count = 0;
    Texels texels{.memory = r.linear.memory};
    Code code = format_of(r.linear.channels, format, count);
    if (code == hipSuccess) code = read_as(*format, count, s, texels);
    if (code != hipSuccess) return code;
    texels.width = r.linear.bytes / format->bytes(count);
    if (texels.width == 0 || texels.width >= kMostOfLine || texels.srgb) return hipErrorInvalidValue;
    if (!is_texture_memory(texels.memory, r.linear.bytes)) return hipErrorInvalidValue;
    out = buffer_object(texels, texels.width * format->bytes(count));
    return hipSuccess;
}

Code words_of_rows(const ResourceDescription& r, const TextureDescription& s, ObjectWords& out) {
    const ElementFormat* format = nullptr;
    unsigned count = 0;
    const auto& rows = r.rows;
    Texels texels{.memory = rows.memory, .width = rows.width, .height = rows.height};
    Code code = format_of(rows.channels, format, count);
    if (code == hipSuccess) code = read_as(*format, count, s, texels);
    if (code != hipSuccess) return code;
    if (rows.width == 0 || rows.height == 0 || rows.width >= kMostOfRows || rows.height >= kMostOfRows ||
        rows.pitch % kTextureAlignment || rows.width * format->bytes(count) > rows.pitch)
        return hipErrorInvalidValue;
    texels.pitch = rows.pitch / format->bytes(count);
    if (texels.pitch > kMostOfRows) return hipErrorInvalidValue;
    const size_t bytes = rows.pitch * (rows.height - 1) + rows.width * format->bytes(count);
    if (!is_texture_memory(rows.memory, bytes)) return hipErrorInvalidValue;
    out = image_object(texels, sampling_of(s), is_gfx12(current()));
    return hipSuccess;
}

Code words_of(const ResourceDescription& r, const TextureDescription& s, const ViewDescription* view,
              ObjectWords& out) {
    switch (r.kind) {
        case kOfArray: return words_of_array(r, s, view, out);
        case kOfLine: return words_of_line(r, s, out);
        case kOfRows: return words_of_rows(r, s, out);
        default: return hipErrorInvalidValue;
    }
}

/// Textures that AMD's library refuses.
bool is_beyond(const ResourceDescription& r, const TextureDescription& s) {
    return r.kind == kOfMipmaps || s.anisotropy != 0 || s.level_bias != 0;
}

}  // namespace

Texels texels_of(const OwnArray& a) {
    const bool is_line = a.height == 0;
    const Shape shape = a.is_layered() ? (is_line ? Shape::lines : Shape::planes)
                        : a.depth      ? Shape::volume
                                       : (is_line ? Shape::line : Shape::plane);
    return {.memory = a.memory,
            .format = a.element->as_elements,
            .count = a.count,
            .shape = shape,
            .width = a.width,
            .height = a.rows(),
            .slices = a.slices(),
            .pitch = a.pitch / a.element_bytes()};
}

Code write_object(int device, const ObjectWords& words, void** out) {
    void* memory = nullptr;
    Code code = allocate(device, sizeof words, MemoryKind::device, 0, &memory);
    if (code != hipSuccess) return code;
    code = code_of(emulator().memcpy_to_device(device, address(memory), words.data(), sizeof words), hipErrorUnknown);
    if (code == hipSuccess) *out = memory;
    return code;
}

Code create_texture(void** out, const ResourceDescription* resource, const TextureDescription* sampling,
                    const ViewDescription* view) {
    if (!has_images(current())) return hipErrorNotSupported;
    if (!out || !resource || !sampling) return hipErrorInvalidValue;
    if (view && resource->kind != kOfArray && resource->kind != kOfMipmaps) return hipErrorInvalidValue;
    if (is_beyond(*resource, *sampling)) return hipErrorNotSupported;
    const auto is_mode = [](int mode, int last) { return mode >= 0 && mode <= last; };
    const auto is_address = [&](int mode) { return is_mode(mode, kBorder); };
    if (!std::ranges::all_of(sampling->address, is_address) || !is_mode(sampling->filter, 1) ||
        !is_mode(sampling->read, 1))
        return hipErrorInvalidValue;
    ObjectWords words;
    Code code = words_of(*resource, *sampling, view, words);
    if (code == hipSuccess) code = write_object(current(), words, out);
    if (code != hipSuccess) return code;
    std::lock_guard lock(textures().mutex);
    textures().all[*out] = {current(), *resource, *sampling, view ? *view : ViewDescription{}};
    return hipSuccess;
}

Code destroy_texture(void* texture) {
    if (!texture) return hipSuccess;
    TextureObject is;
    Code code = texture_at(texture, is);
    if (code == hipSuccess) code = wait_for_device(is.device);
    if (code != hipSuccess) return code;
    {
        std::lock_guard lock(textures().mutex);
        textures().all.erase(texture);
    }
    return release(texture);
}

void forget_textures(int device) {
    std::lock_guard lock(textures().mutex);
    std::erase_if(textures().all, [&](const auto& one) { return one.second.device == device; });
}

Code texture_at(void* texture, TextureObject& out) {
    if (!has_images(current())) return hipErrorNotSupported;
    std::lock_guard lock(textures().mutex);
    const auto found = textures().all.find(texture);
    if (found == textures().all.end()) return hipErrorInvalidValue;
    out = found->second;
    return hipSuccess;
}

namespace {

template <class T>
Code tell_of(void* texture, void* out, T TextureObject::* what) {
    TextureObject is;
    if (!out) return hipErrorInvalidValue;
    const Code code = texture_at(texture, is);
    return code == hipSuccess ? set(static_cast<T*>(out), is.*what) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipCreateTextureObject(void** texture, const void* resource, const void* sampling, const void* view) {
    return entry("hipCreateTextureObject", [&] {
        return create_texture(texture, static_cast<const ResourceDescription*>(resource),
                              static_cast<const TextureDescription*>(sampling),
                              static_cast<const ViewDescription*>(view));
    });
}
int hipDestroyTextureObject(void* texture) {
    return entry("hipDestroyTextureObject", [&] { return destroy_texture(texture); });
}
int hipGetTextureObjectResourceDesc(void* resource, void* texture) {
    return entry("hipGetTextureObjectResourceDesc",
                 [&] { return tell_of(texture, resource, &TextureObject::resource); });
}
int hipGetTextureObjectResourceViewDesc(void* view, void* texture) {
    return entry("hipGetTextureObjectResourceViewDesc", [&] { return tell_of(texture, view, &TextureObject::view); });
}
int hipGetTextureObjectTextureDesc(void* sampling, void* texture) {
    return entry("hipGetTextureObjectTextureDesc",
                 [&] { return tell_of(texture, sampling, &TextureObject::sampling); });
}
int hipDeviceGetTexture1DLinearMaxWidth(size_t* texels, const void* channels, int device) {
    return entry("hipDeviceGetTexture1DLinearMaxWidth", [&] {
        if (!device_at(device)) return hipErrorInvalidDevice;
        if (!texels || !channels) return hipErrorInvalidValue;
        const auto& c = *static_cast<const ChannelFormat*>(channels);
        const int bytes = (c.x + c.y + c.z + c.w) / 8;
        return bytes > 0 ? set(texels, kMostOfLine / static_cast<size_t>(bytes)) : hipErrorInvalidValue;
    });
}
