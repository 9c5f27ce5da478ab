#pragma once
#include <array>
#include <cstdint>

// Data formats of typed buffer instructions: memory bits to registers and back.
namespace strata::emu {

enum class Numeric : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, real, srgb };

/// Widths of the components X, Y, Z, W in bits, X in the lowest; 0: absent.
struct BufferFormat {
    std::array<uint8_t, 4> bits{};
    Numeric numeric = Numeric::uint;
    int components() const;
    uint32_t bytes() const;
    bool valid() const { return bits[0] != 0; }
    bool is_integer() const { return numeric == Numeric::uint || numeric == Numeric::sint; }
    bool operator==(const BufferFormat&) const = default;
};

/// By GFX11's unified number, and by GFX9's data format (low 4 bits) and number format (3 bits above). In GFX9 floats
/// of 2 or 8 bits are no format.
BufferFormat unified_format(uint32_t number);
/// The same for images, which have formats of sRGB besides: components but W are as IEC 61966-2-1 encodes them.
BufferFormat image_format(uint32_t number);
BufferFormat gfx9_format(uint32_t data_and_number);

/// One component as a 32-bit register sees it: float bits, or an extended integer.
uint32_t component_to_register(uint32_t value, uint32_t bits, Numeric numeric);
/// The same as 16 bits of a D16 instruction.
uint16_t component_to_half(uint32_t value, uint32_t bits, Numeric numeric);
/// The bits that a store writes; integers saturate (as Direct3D's conversions, which the hardware follows).
uint32_t component_from_register(uint32_t value, uint32_t bits, Numeric numeric);
/// From the 16 bits of a D16 instruction.
uint32_t component_from_half(uint16_t value, uint32_t bits, Numeric numeric);

// Small floats: 5 bits of exponent, `mantissa` bits after it, a sign only in halves (16 bits).
float small_to_float(uint32_t value, int mantissa, bool has_sign);
/// Rounds toward zero; what is too large becomes the largest number, a negative one 0 where there is no sign.
uint32_t float_to_small(float value, int mantissa, bool has_sign);

}  // namespace strata::emu
