#include "strata/asm/emu/memory/image_resource.h"

namespace strata::emu {
namespace {

enum Type : uint8_t { k1d = 8, k2d, k3d, kCube, k1dArray, k2dArray };

uint32_t bits(uint32_t word, int low, int count) { return word >> low & ((1u << count) - 1); }
uint64_t up(uint64_t bytes, uint64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

ImageResource::ImageResource(const uint32_t* w, bool rdna4)
    : base((w[0] | uint64_t{w[1] & 255} << 32) << 8),
      format(image_format(rdna4 ? bits(w[1], 17, 8) : bits(w[1], 20, 8))),
      size{(bits(w[1], 30, 2) | bits(w[2], 0, 14) << 2) + 1, bits(w[2], 14, rdna4 ? 16 : 14) + 1,
           bits(w[4], 0, rdna4 ? 14 : 13) + 1},
      pitch(0),
      slice(0),
      type(static_cast<uint8_t>(bits(w[3], 28, 4))),
      select(w[3] & 0xfff) {
    const uint64_t row = uint64_t{size[0]} * format.bytes();
    pitch = up(row, rdna4 ? kImagePitch12 : kImagePitch);
    const bool flat = type == k1d || type == k2d;
    const uint32_t field = bits(w[4], 0, rdna4 ? 16 : 14);
    if (flat && field) pitch = uint64_t{field + 1} * format.bytes();
    if (flat) size[2] = 1;
    if (type == k1d || type == k1dArray) size[1] = 1;
    slice = up(row, kImagePitch) * size[1];
    const uint32_t last_level = rdna4 ? bits(w[3], 15, 5) : bits(w[3], 16, 4);
    const uint32_t first_level = rdna4 ? bits(w[1], 25, 5) : bits(w[3], 12, 4);
    unusable = type < k1d || type == kCube || type > k2dArray ? "its type is no 1-, 2- or 3-dimensional image or array"
               : !format.valid()                              ? "its data format is none of the unified ones"
               : bits(w[3], 20, 5)                            ? "its texels are swizzled; only linear images are there"
               : last_level || first_level                    ? "it has several levels; mipmaps are not there"
               : !flat && bits(w[4], 16, rdna4 ? 14 : 13)     ? "its array does not begin with the first slice"
                                                              : nullptr;
}

ImageSampler::ImageSampler(const uint32_t* w)
    : clamp{static_cast<Clamp>(bits(w[0], 0, 3)), static_cast<Clamp>(bits(w[0], 3, 3)),
            static_cast<Clamp>(bits(w[0], 6, 3))},
      linear(bits(w[2], 20, 2) & 1),
      linear_z(bits(w[2], 24, 2) == 2 || (bits(w[2], 24, 2) == 0 && linear)),
      unnormalized(bits(w[0], 15, 1)),
      border(static_cast<uint8_t>(bits(w[3], 30, 2))) {
    for (Clamp of : clamp)
        if (of != Clamp::wrap && of != Clamp::mirror && of != Clamp::last_texel && of != Clamp::border)
            unusable = "its address modes are not wrap, mirror, clamp to the edge or to the border";
    if (border == 3) unusable = "its border colour is one of a table, which is not there";
}

}  // namespace strata::emu
