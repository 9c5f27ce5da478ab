// Texture objects by the structs of CUDA's driver interface.
#include <algorithm>

#include "strata/hip/api/exports.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {
namespace {

/// HIP_TRSF_*.
constexpr unsigned kAsInteger = 1, kNormalized = 2, kSrgb = 16;

ChannelFormat channels_of(int code, unsigned count) {
    const ElementFormat* const format = format_of(code);
    return format ? channels_of(*format, count) : ChannelFormat{};
}
/// 0 and no channels where there is no such format.
void format_of(const ChannelFormat& channels, int& code, unsigned& count) {
    const ElementFormat* format = nullptr;
    code = format_of(channels, format, count) == hipSuccess ? format->code : 0;
}

ResourceDescription plain(const DriverResourceDescription& d) {
    ResourceDescription out{};
    out.kind = d.kind;
    if (d.kind == kOfLine)
        out.linear = {d.linear.memory, channels_of(d.linear.format, d.linear.count), d.linear.bytes};
    else if (d.kind == kOfRows)
        out.rows = {d.rows.memory, channels_of(d.rows.format, d.rows.count), d.rows.width, d.rows.height, d.rows.pitch};
    else
        out.array = d.array;
    return out;
}
DriverResourceDescription of_driver(const ResourceDescription& r) {
    DriverResourceDescription out{};
    out.kind = r.kind;
    if (r.kind == kOfLine) {
        out.linear = {r.linear.memory, 0, 0, r.linear.bytes};
        format_of(r.linear.channels, out.linear.format, out.linear.count);
    } else if (r.kind == kOfRows) {
        out.rows = {r.rows.memory, 0, 0, r.rows.width, r.rows.height, r.rows.pitch};
        format_of(r.rows.channels, out.rows.format, out.rows.count);
    } else {
        out.array = r.array;
    }
    return out;
}

TextureDescription plain(const DriverTextureDescription& d) {
    TextureDescription out{};
    std::ranges::copy(d.address, out.address);
    out.filter = d.filter;
    out.read = d.flags & kAsInteger ? 0 : 1;
    out.srgb = d.flags & kSrgb ? 1 : 0;
    std::ranges::copy(d.border, out.border);
    out.normalized = d.flags & kNormalized ? 1 : 0;
    out.anisotropy = d.anisotropy;
    out.mipmap_filter = d.mipmap_filter;
    out.level_bias = d.level_bias;
    out.least_level = d.least_level;
    out.most_level = d.most_level;
    return out;
}
DriverTextureDescription of_driver(const TextureDescription& t) {
    DriverTextureDescription out{};
    std::ranges::copy(t.address, out.address);
    out.filter = t.filter;
    out.flags = (t.read == 0 ? kAsInteger : 0) | (t.normalized ? kNormalized : 0) | (t.srgb ? kSrgb : 0);
    std::ranges::copy(t.border, out.border);
    out.anisotropy = t.anisotropy;
    out.mipmap_filter = t.mipmap_filter;
    out.level_bias = t.level_bias;
    out.least_level = t.least_level;
    out.most_level = t.most_level;
    return out;
}

Code create(void** out, const void* resource, const void* sampling, const void* view) {
    if (!out || !resource || !sampling) return hipErrorInvalidValue;
    const ResourceDescription r = plain(*static_cast<const DriverResourceDescription*>(resource));
    const TextureDescription s = plain(*static_cast<const DriverTextureDescription*>(sampling));
    return create_texture(out, &r, &s, view ? &static_cast<const DriverViewDescription*>(view)->view : nullptr);
}

/// Calls tell(texture) for a texture that is there.
template <class Tell>
Code tell_of(void* texture, const void* out, Tell&& tell) {
    TextureObject is;
    const Code code = out ? texture_at(texture, is) : hipErrorInvalidValue;
    return code == hipSuccess ? tell(is) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipTexObjectCreate(void** texture, const void* resource, const void* sampling, const void* view) {
    return entry("hipTexObjectCreate", [&] { return create(texture, resource, sampling, view); });
}
int hipTexObjectDestroy(void* texture) {
    return entry("hipTexObjectDestroy", [&] { return destroy_texture(texture); });
}
int hipTexObjectGetResourceDesc(void* resource, void* texture) {
    return entry("hipTexObjectGetResourceDesc", [&] {
        return tell_of(texture, resource, [&](const TextureObject& is) {
            return set(static_cast<DriverResourceDescription*>(resource), of_driver(is.resource));
        });
    });
}
int hipTexObjectGetResourceViewDesc(void* view, void* texture) {
    return entry("hipTexObjectGetResourceViewDesc", [&] {
        return tell_of(texture, view, [&](const TextureObject& is) {
            return set(static_cast<DriverViewDescription*>(view), DriverViewDescription{is.view, {}});
        });
    });
}
int hipTexObjectGetTextureDesc(void* sampling, void* texture) {
    return entry("hipTexObjectGetTextureDesc", [&] {
        return tell_of(texture, sampling, [&](const TextureObject& is) {
            return set(static_cast<DriverTextureDescription*>(sampling), of_driver(is.sampling));
        });
    });
}
