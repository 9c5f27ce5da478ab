#pragma once
#include <array>
#include <cstdint>

#include "strata/hip/memory/array.h"

/// The words of texture and surface objects, as kernels read them (device libraries' image functions, and the
/// instructions that take descriptors). Bits: ROCR-Runtime, image/resource_gfx11.h and resource_gfx12.h; RDNA3 ISA
/// 8.2.5, RDNA4 ISA 10.6.
namespace strata::hip::library {

/// SQ_RSRC_IMG_*.
enum class Shape { line = 8, plane, volume, lines = 12, planes };

struct Texels {
    const void* memory = nullptr;
    ElementFormat::Words format = {};
    unsigned count = 1;  ///< channels
    bool srgb = false;
    Shape shape = Shape::plane;
    size_t width = 1, height = 1, slices = 1, pitch = 0;  ///< texels
};
/// hipTextureAddressMode of each axis, as HIP documents it; AMD's library of 2024 takes the first one for all
/// (ROCm/clr,
/// hip_texture.cpp).
struct Sampling {
    int address[3] = {};
    bool linear = false, normalized = false;
};

/// A descriptor of twelve words, whose last four device libraries read, and a sampler of eight.
using ObjectWords = std::array<uint32_t, 20>;
ObjectWords image_object(const Texels& texels, const Sampling& sampling, bool is_gfx12);
/// Texels in a row, which tex1Dfetch reads as elements of a buffer.
ObjectWords buffer_object(const Texels& texels, size_t bytes);

}  // namespace strata::hip::library
