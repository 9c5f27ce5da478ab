// Texture references: variables of programs, and of modules, that a texture object is bound to. Kernels read the
// object's address in the device's copy of the variable.
#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/module/registration.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {
namespace {

/// HIP_TRSF_*, HIP_TRSA_OVERRIDE_FORMAT.
constexpr unsigned kAsInteger = 1, kNormalized = 2, kSrgb = 16, kOverrideFormat = 1;

struct OfModule {
    DeviceRange there;
    TextureReference here = {};
};
struct References {
    Mutex mutex;
    std::unordered_map<DevicePtr, std::unique_ptr<OfModule>> of_modules;
};
References& references() {
    static auto* all = new References;
    return *all;
}

/// The device's copy. Error: hipErrorInvalidSymbol.
Code on_device(const void* reference, DeviceRange& out) {
    {
        std::lock_guard lock(references().mutex);
        for (const auto& [place, of_module] : references().of_modules)
            if (&of_module->here == reference) return out = of_module->there, hipSuccess;
    }
    const Code code = find_variable(reference, out);
    return code == hipSuccess && out.bytes != sizeof(TextureReference) ? hipErrorInvalidSymbol : code;
}

TextureDescription sampling_of(const TextureReference& r) {
    TextureDescription out{};
    std::ranges::copy(r.address, out.address);
    out.filter = r.filter;
    out.read = r.read;
    out.srgb = r.srgb;
    out.normalized = r.normalized;
    out.anisotropy = r.anisotropy;
    out.mipmap_filter = r.mipmap_filter;
    out.level_bias = r.level_bias;
    out.least_level = r.least_level;
    out.most_level = r.most_level;
    return out;
}

Code unbind(TextureReference& reference) {
    if (!has_images(current())) return hipErrorNotSupported;
    const Code code = destroy_texture(reference.object);
    reference.object = nullptr;
    return code == hipErrorInvalidValue ? hipSuccess : code;  // it went with hipDeviceReset
}

Code bind(TextureReference& reference, const ResourceDescription& resource) {
    DeviceRange there;
    Code code = on_device(&reference, there);
    if (code == hipSuccess) code = unbind(reference);
    const TextureDescription sampling = sampling_of(reference);
    if (code == hipSuccess) code = create_texture(&reference.object, &resource, &sampling, nullptr);
    if (code != hipSuccess) return code;
    return and_wait(nullptr, [&](Stream& own) {
        return copy(own, reinterpret_cast<void*>(there.address), &reference, sizeof reference);
    });
}

/// Textures begin at multiples of kTextureAlignment; `offset` gets the rest. Error: hipErrorInvalidValue where it is
/// null.
Code align(void*& memory, size_t* offset) {
    const size_t offset_of_memory = address(memory) % kTextureAlignment;
    if (offset_of_memory && !offset) return hipErrorInvalidValue;
    if (offset) *offset = offset_of_memory;
    memory = static_cast<char*>(memory) - offset_of_memory;
    return hipSuccess;
}

Code bind_line(TextureReference& reference, void* memory, const ChannelFormat& channels, size_t bytes, size_t* offset) {
    if (const Code code = align(memory, offset); code != hipSuccess) return code;
    const std::optional<Block> block = block_of(memory);
    ResourceDescription resource{};
    resource.kind = kOfLine;
    // hipBindTexture without a size means all there is.
    resource.linear = {memory, channels,
                       block ? std::min(bytes + (offset ? *offset : 0), block->bytes_from(address(memory))) : bytes};
    return bind(reference, resource);
}
Code bind_rows(TextureReference& reference, void* memory, const ChannelFormat& channels, const ArrayDescriptor& size,
               size_t pitch, size_t* offset) {
    if (pitch == 0) return hipErrorInvalidValue;
    if (const Code code = align(memory, offset); code != hipSuccess) return code;
    ResourceDescription resource{};
    resource.kind = kOfRows;
    resource.rows = {memory, channels, size.width, size.height, pitch};
    return bind(reference, resource);
}
Code bind_array(TextureReference& reference, const void* array) {
    ResourceDescription resource{};
    resource.kind = kOfArray;
    resource.array = const_cast<void*>(array);
    return array_at(array) ? bind(reference, resource) : hipErrorInvalidValue;
}

ChannelFormat channels_of(const TextureReference& reference) {
    const ElementFormat* const format = format_of(reference.format);
    return format ? library::channels_of(*format, static_cast<unsigned>(reference.count)) : ChannelFormat{};
}
TextureReference& writable(const void* reference) {
    return *static_cast<TextureReference*>(const_cast<void*>(reference));
}

/// Calls act(reference), which may be none of a device without images.
template <class Act>
int with(const char* call, const void* reference, Act&& act) {
    return entry(call, [&]() -> Code {
        if (!reference) return hipErrorInvalidValue;
        return has_images(current()) ? act(writable(reference)) : hipErrorNotSupported;
    });
}
/// The same for what is bound: a reference that no device has a copy of is none, by whichever code the interface has
/// for that.
template <class Act>
int with_known(const char* call, const void* reference, Code unknown, Act&& act) {
    return entry(call, [&]() -> Code {
        DeviceRange there;
        const Code code = on_device(reference, there);
        if (code != hipSuccess) return code == hipErrorInvalidSymbol ? unknown : code;
        return has_images(current()) ? act(writable(reference)) : hipErrorNotSupported;
    });
}
template <class T>
int change(const char* call, void* reference, T TextureReference::* what, T value) {
    return with(call, reference, [&](TextureReference& r) { return r.*what = value, hipSuccess; });
}
template <class T, class Out>
int ask(const char* call, const void* reference, T TextureReference::* what, Out* out) {
    return with(call, reference, [&](TextureReference& r) { return set(out, r.*what); });
}
void forget_references(DevicePtr variable) {
    std::lock_guard lock(references().mutex);
    references().of_modules.erase(variable);
}

bool is_axis(int axis, int count) { return axis >= 0 && axis < count; }

}  // namespace

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGetTextureReference(const void** reference, const void* symbol) {
    return entry("hipGetTextureReference", [&] {
        if (!reference) return hipErrorInvalidValue;
        strata::hip::DeviceRange there;
        const Code code = has_images(current()) ? on_device(symbol, there) : hipErrorNotSupported;
        return code == hipSuccess ? set(reference, symbol) : code;
    });
}
int hipModuleGetTexRef(void** reference, void* module, const char* name) {
    return entry("hipModuleGetTexRef", [&] {
        if (!reference || !name || !*name) return hipErrorInvalidValue;
        if (!module) return hipErrorInvalidHandle;
        strata::hip::DeviceRange there;
        const Code code = has_images(current()) ? global_of(module, name, there) : hipErrorNotSupported;
        if (code != hipSuccess) return code;
        if (there.bytes != sizeof(TextureReference)) return hipErrorNotFound;
        std::lock_guard lock(references().mutex);
        std::unique_ptr<OfModule>& of_module = references().of_modules[there.address];
        if (!of_module) of_module = std::make_unique<OfModule>(OfModule{there});
        when_variables_go(forget_references);
        *reference = &of_module->here;
        return hipSuccess;
    });
}
int hipGetTextureAlignmentOffset(size_t* offset, const void* reference) {
    // As in AMD's library, an offset is reported when memory is bound.
    return with("hipGetTextureAlignmentOffset", reference, [&](TextureReference&) { return set(offset, 0); });
}
int hipBindTexture(size_t* offset, const void* reference, const void* memory, const void* channels, size_t bytes) {
    return with_known("hipBindTexture", reference, hipErrorInvalidSymbol, [&](TextureReference& r) {
        if (!memory || !channels) return hipErrorInvalidValue;
        return bind_line(r, const_cast<void*>(memory), *static_cast<const ChannelFormat*>(channels), bytes, offset);
    });
}
int hipBindTexture2D(size_t* offset, const void* reference, const void* memory, const void* channels, size_t width,
                     size_t height, size_t pitch) {
    return with_known("hipBindTexture2D", reference, hipErrorInvalidSymbol, [&](TextureReference& r) {
        if (!memory || !channels) return hipErrorInvalidValue;
        return bind_rows(r, const_cast<void*>(memory), *static_cast<const ChannelFormat*>(channels),
                         {width, height, 0, 0}, pitch, offset);
    });
}
int hipBindTextureToArray(const void* reference, const void* array, const void* channels) {
    if (!reference || !array || !channels) return finish(hipErrorInvalidValue);
    return with_known("hipBindTextureToArray", reference, hipErrorInvalidSymbol,
                      [&](TextureReference& r) { return bind_array(r, array); });
}
int hipUnbindTexture(const void* reference) {
    return with("hipUnbindTexture", reference, [&](TextureReference& r) { return unbind(r); });
}
int hipTexRefSetArray(void* reference, const void* array, unsigned flags) {
    if (!reference || !array || flags != kOverrideFormat) return finish(hipErrorInvalidValue);
    return with_known("hipTexRefSetArray", reference, hipErrorNotFound, [&](TextureReference& r) {
        const OwnArray* const own = array_at(array);
        if (!own) return hipErrorInvalidValue;
        r.format = own->format;
        r.count = static_cast<int>(own->count);
        return bind_array(r, array);
    });
}
int hipTexRefGetArray(void** array, const void* reference) {
    return with("hipTexRefGetArray", reference, [&](TextureReference& r) {
        TextureObject is;
        const Code code = texture_at(r.object, is);
        return code != hipSuccess || is.resource.kind != kOfArray ? hipErrorInvalidValue
                                                                  : set(array, is.resource.array);
    });
}
int hipTexRefSetAddress(size_t* offset, void* reference, void* memory, size_t bytes) {
    if (!reference) return finish(hipErrorInvalidValue);
    return with_known("hipTexRefSetAddress", reference, hipErrorNotFound, [&](TextureReference& r) {
        return memory ? bind_line(r, memory, channels_of(r), bytes, offset) : hipErrorInvalidValue;
    });
}
int hipTexRefSetAddress2D(void* reference, const void* descriptor, void* memory, size_t pitch) {
    if (!reference || !descriptor) return finish(hipErrorInvalidValue);
    return with_known("hipTexRefSetAddress2D", reference, hipErrorNotFound, [&](TextureReference& r) {
        if (!memory) return hipErrorInvalidValue;
        const auto& d = *static_cast<const ArrayDescriptor*>(descriptor);
        const ElementFormat* const format = format_of(d.format);
        if (!format) return hipErrorInvalidValue;
        return bind_rows(r, memory, channels_of(*format, d.count), d, pitch, nullptr);
    });
}
int hipTexRefGetAddress(void** memory, const void* reference) {
    return with("hipTexRefGetAddress", reference, [&](TextureReference& r) {
        TextureObject is;
        const Code code = texture_at(r.object, is);
        if (code != hipSuccess) return code;
        if (is.resource.kind == kOfLine) return set(memory, is.resource.linear.memory);
        return is.resource.kind == kOfRows ? set(memory, is.resource.rows.memory) : hipErrorInvalidValue;
    });
}
int hipTexRefSetFormat(void* reference, int format, int count) {
    return with("hipTexRefSetFormat", reference, [&](TextureReference& r) {
        r.format = format;
        r.count = count;
        return hipSuccess;
    });
}
int hipTexRefGetFormat(void* format, int* count, const void* reference) {
    return with("hipTexRefGetFormat", reference, [&](TextureReference& r) {
        const Code code = set(count, r.count);
        return code == hipSuccess ? set(static_cast<int*>(format), r.format) : code;
    });
}
int hipTexRefSetFlags(void* reference, unsigned flags) {
    return with("hipTexRefSetFlags", reference, [&](TextureReference& r) {
        r.read = flags & kAsInteger ? 0 : 1;
        r.normalized = flags & kNormalized ? 1 : 0;
        r.srgb = flags & kSrgb ? 1 : 0;
        return hipSuccess;
    });
}
int hipTexRefGetFlags(unsigned* flags, const void* reference) {
    return with("hipTexRefGetFlags", reference, [&](TextureReference& r) {
        return set(flags, (r.read == 0 ? kAsInteger : 0) | (r.normalized ? kNormalized : 0) | (r.srgb ? kSrgb : 0));
    });
}
int hipTexRefSetAddressMode(void* reference, int axis, int mode) {
    return with("hipTexRefSetAddressMode", reference, [&](TextureReference& r) {
        return is_axis(axis, 3) ? set(&r.address[axis], mode) : hipErrorInvalidValue;
    });
}
int hipTexRefGetAddressMode(void* mode, const void* reference, int axis) {
    return with("hipTexRefGetAddressMode", reference, [&](TextureReference& r) {
        return is_axis(axis, 2) ? set(static_cast<int*>(mode), r.address[axis]) : hipErrorInvalidValue;  // of three
    });
}
int hipTexRefSetFilterMode(void* reference, int mode) {
    return change("hipTexRefSetFilterMode", reference, &TextureReference::filter, mode);
}
int hipTexRefGetFilterMode(void* mode, const void* reference) {
    return ask("hipTexRefGetFilterMode", reference, &TextureReference::filter, static_cast<int*>(mode));
}
int hipTexRefSetMaxAnisotropy(void* reference, unsigned most) {
    return change("hipTexRefSetMaxAnisotropy", reference, &TextureReference::anisotropy, most);
}
int hipTexRefGetMaxAnisotropy(int* most, const void* reference) {
    return ask("hipTexRefGetMaxAnisotropy", reference, &TextureReference::anisotropy, most);
}
int hipTexRefSetMipmapFilterMode(void* reference, int mode) {
    return change("hipTexRefSetMipmapFilterMode", reference, &TextureReference::mipmap_filter, mode);
}
int hipTexRefGetMipmapFilterMode(void* mode, const void* reference) {
    return ask("hipTexRefGetMipmapFilterMode", reference, &TextureReference::mipmap_filter, static_cast<int*>(mode));
}
int hipTexRefSetMipmapLevelBias(void* reference, float bias) {
    return change("hipTexRefSetMipmapLevelBias", reference, &TextureReference::level_bias, bias);
}
int hipTexRefGetMipmapLevelBias(float* bias, const void* reference) {
    return ask("hipTexRefGetMipmapLevelBias", reference, &TextureReference::level_bias, bias);
}
int hipTexRefSetMipmapLevelClamp(void* reference, float least, float most) {
    return with("hipTexRefSetMipmapLevelClamp", reference, [&](TextureReference& r) {
        r.least_level = least;
        r.most_level = most;
        return hipSuccess;
    });
}
int hipTexRefGetMipmapLevelClamp(float* least, float* most, const void* reference) {
    return with("hipTexRefGetMipmapLevelClamp", reference, [&](TextureReference& r) {
        const Code code = set(least, r.least_level);
        return code == hipSuccess ? set(most, r.most_level) : code;
    });
}
