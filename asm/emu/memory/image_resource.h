#pragma once
#include <array>
#include <cstdint>

#include "strata/asm/emu/memory/buffer_format.h"
#include "strata/asm/isa/image.h"

// Image and sampler descriptors (T#, S#): RDNA3 ISA 8.2.5 and 8.2.6, RDNA4 ISA 10.6 and 10.7, the same as in
// ROCR-Runtime's image/resource_gfx11.h and resource_gfx12.h.
namespace strata::emu {

enum class Clamp : uint8_t {
    wrap,
    mirror,
    last_texel,
    mirror_once,
    half_border,
    mirror_once_half,
    border,
    mirror_once_border
};

/// The 256 bits of a T#, by generation.
struct ImageResource {
    ImageResource(const uint32_t* words, bool rdna4);

    uint64_t base;
    BufferFormat format;
    uint32_t size[3];  ///< texels a row, rows, slices
    uint64_t pitch, slice;
    uint8_t type;
    uint16_t select;                 ///< four times three bits of dst_sel
    const char* unusable = nullptr;  ///< why

    /// The component of the format that goes to register component i: 0 to 3, -1 for zero, -2 for one.
    int selected(int i) const {
        const int of = select >> 3 * i & 7;
        return of >= 4 ? of - 4 : of == 1 ? -2 : -1;
    }
};

/// The 128 bits of an S#, the same in both generations as far as they count here.
struct ImageSampler {
    explicit ImageSampler(const uint32_t* words);

    Clamp clamp[3];
    bool linear, linear_z, unnormalized;
    uint8_t border;  ///< 0: zeros, 1: zeros and one, 2: ones
    const char* unusable = nullptr;
};

/// The pitch of rows, in bytes, where the T# gives none. RDNA4's rows are closer, but its slices have the size that the
/// wider pitch gives (ROCR-Runtime, image/addrlib: gfx11addrlib.cpp HwlComputeSurfaceInfoLinear, gfx12addrlib.cpp
/// GetMipOffset).
constexpr uint64_t kImagePitch = 256, kImagePitch12 = 128;

}  // namespace strata::emu
