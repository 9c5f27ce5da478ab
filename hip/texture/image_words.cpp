#include "strata/hip/texture/image_words.h"

#include <algorithm>

namespace strata::hip::library {
namespace {

/// The components of a vector that is fetched: channels, then zeros and one.
uint32_t selected(unsigned count) {
    constexpr uint32_t kZero = 0, kOne = 1, kX = 4, kY = 5, kZ = 6, kW = 7;
    return count == 1   ? kX | kZero << 3 | kZero << 6 | kOne << 9
           : count == 2 ? kX | kY << 3 | kZero << 6 | kOne << 9
                        : kX | kY << 3 | kZ << 6 | kW << 9;
}

uint32_t unified(const Texels& t) {
    constexpr uint32_t kSrgb = 66;  // 8_8_8_8_SRGB
    return t.srgb ? kSrgb : t.format.unified[t.count / 2];
}

/// The words by which device libraries describe an image: hsa_ext_image_channel_type_t, hsa_ext_image_channel_order_t,
/// texels of a row.
void describe(const Texels& t, ObjectWords& out) {
    constexpr uint32_t kRed = 1, kRedGreen = 3, kAll = 8, kAllSrgb = 14;
    out[8] = t.format.channel_type;
    out[9] = t.count == 1 ? kRed : t.count == 2 ? kRedGreen : t.srgb ? kAllSrgb : kAll;
    out[10] = static_cast<uint32_t>(t.width);
}

uint32_t clamp_of(int address) {
    constexpr uint32_t kClamps[] = {0, 2, 1, 6};  // wrap, last texel, mirror, border
    return kClamps[address];
}

}  // namespace

ObjectWords image_object(const Texels& t, const Sampling& s, bool is_gfx12) {
    constexpr int kSampler = 12;
    const uint64_t base = reinterpret_cast<uintptr_t>(t.memory) >> 8;
    const auto last_texel = static_cast<uint32_t>(t.width - 1), last_row = static_cast<uint32_t>(t.height - 1);
    const bool has_slices = t.shape != Shape::line && t.shape != Shape::plane;
    ObjectWords out{};
    out[0] = static_cast<uint32_t>(base);
    out[1] = static_cast<uint32_t>(base >> 32) | unified(t) << (is_gfx12 ? 17 : 20) | last_texel << 30;
    out[2] = last_texel >> 2 | last_row << 14;
    out[3] = selected(t.count) | static_cast<uint32_t>(t.shape) << 28;
    out[4] = static_cast<uint32_t>((has_slices ? t.slices : t.pitch) - 1);
    describe(t, out);
    const uint32_t filter = s.linear ? 1 : 0;
    for (int axis = 0; axis < 3; ++axis) out[kSampler] |= clamp_of(s.address[axis]) << 3 * axis;
    out[kSampler] |= s.normalized ? 0u : 1u << 15;
    out[kSampler + 1] = 4095u << 13;  // any level of detail
    out[kSampler + 2] = filter << 20 | filter << 22;
    return out;
}

ObjectWords buffer_object(const Texels& t, size_t bytes) {
    const auto base = reinterpret_cast<uintptr_t>(t.memory);
    const size_t element = bytes / t.width;
    ObjectWords out{};
    out[0] = static_cast<uint32_t>(base);
    out[1] = static_cast<uint32_t>(base >> 32 & 0xffff) | static_cast<uint32_t>(element) << 16;
    out[2] = static_cast<uint32_t>(t.width);  // ROCR has bytes here: reads past the last texel go unseen
    out[3] = selected(t.count) | unified(t) << 12;
    describe(t, out);
    return out;
}

}  // namespace strata::hip::library
