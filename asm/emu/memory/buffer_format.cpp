#include "strata/asm/emu/memory/buffer_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

// RDNA3 ISA 9.6 "Buffer Resource", table of data formats; CDNA3 ISA 9.1. Names list components from the highest bits
// down, so that X is the last number. RDNA3 ISA 9.3.1 says how halves are rounded; the rest of the conversions follows
// Direct3D's functional specification, chapter 3.2.
namespace strata::emu {
namespace {

constexpr BufferFormat parse(std::string_view name) {
    BufferFormat format;
    int found = 0;
    uint8_t sizes[4] = {};
    size_t at = 0;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9') {
        uint8_t size = 0;
        for (; at < name.size() && name[at] >= '0' && name[at] <= '9'; ++at)
            size = static_cast<uint8_t>(size * 10 + (name[at] - '0'));
        sizes[found++] = size;
        ++at;  // the underscore
    }
    for (int i = 0; i < found; ++i) format.bits[static_cast<size_t>(i)] = sizes[found - 1 - i];
    constexpr std::string_view kNumerics[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"};
    if (found == 0) return format;
    for (size_t i = 0; i < 7; ++i)
        if (name.substr(at) == kNumerics[i]) format.numeric = static_cast<Numeric>(i);
    return format;
}

constexpr BufferFormat kUnified[] = {
#define BUFFER_FORMAT(number, name) parse(#name),
#include "strata/asm/isa/rdna3_buffer_formats.def"
#undef BUFFER_FORMAT
};
static_assert(std::size(kUnified) == 64 && kUnified[36].bits == std::array<uint8_t, 4>{10, 10, 10, 2});

constexpr std::array<uint8_t, 4> kGfx9Data[16] = {{},
                                                  {8},
                                                  {16},
                                                  {8, 8},
                                                  {32},
                                                  {16, 16},
                                                  {11, 11, 10},
                                                  {10, 11, 11},
                                                  {2, 10, 10, 10},
                                                  {10, 10, 10, 2},
                                                  {8, 8, 8, 8},
                                                  {32, 32},
                                                  {16, 16, 16, 16},
                                                  {32, 32, 32},
                                                  {32, 32, 32, 32},
                                                  {}};

int32_t sign_extend(uint32_t value, uint32_t bits) { return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits); }
uint32_t largest(uint32_t bits) { return bits == 32 ? ~0u : (1u << bits) - 1; }
int32_t largest_signed(uint32_t bits) { return static_cast<int32_t>(largest(bits) >> 1); }

int mantissa_of(uint32_t bits) { return bits == 16 ? 10 : static_cast<int>(bits) - 5; }

/// IEC 61966-2-1.
double from_srgb(double encoded) {
    return encoded <= 0.04045 ? encoded / 12.92 : std::pow((encoded + 0.055) / 1.055, 2.4);
}

/// The exact value of a component that is not an integer for the register.
double real_value(uint32_t value, uint32_t bits, Numeric numeric) {
    switch (numeric) {
        case Numeric::unorm: return static_cast<double>(value) / largest(bits);
        case Numeric::snorm:
            return std::max(-1.0, static_cast<double>(sign_extend(value, bits)) / largest_signed(bits));
        case Numeric::uscaled: return value;
        case Numeric::sscaled: return sign_extend(value, bits);
        case Numeric::srgb: return from_srgb(static_cast<double>(value) / largest(bits));
        default: return bits == 32 ? std::bit_cast<float>(value) : small_to_float(value, mantissa_of(bits), bits == 16);
    }
}

/// A number that is neither infinite nor NaN.
uint16_t nearest_half(double value) {
    constexpr uint16_t kInfinity = 0x7c00, kSign = 0x8000;
    const double magnitude = std::fabs(value);
    const int power = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
    const auto units =
        static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - power)));  // with the leading bit
    const uint32_t half = (static_cast<uint32_t>(power + 14) << 10) + units;
    return static_cast<uint16_t>((half < kInfinity ? half : kInfinity) | (std::signbit(value) ? kSign : 0));
}

/// Saturated integer of a float: NaN gives 0, the fraction is dropped.
double clamped(float value, double low, double high) {
    return std::isnan(value) ? 0 : std::clamp(static_cast<double>(value), low, high);
}

}  // namespace

int BufferFormat::components() const {
    return static_cast<int>(std::ranges::count_if(bits, [](uint8_t size) { return size != 0; }));
}
uint32_t BufferFormat::bytes() const { return (uint32_t{bits[0]} + bits[1] + bits[2] + bits[3]) / 8; }

BufferFormat unified_format(uint32_t number) { return number < 64 ? kUnified[number] : BufferFormat{}; }

BufferFormat image_format(uint32_t number) {
    constexpr uint32_t kSrgb = 64;  // 8_SRGB, 8_8_SRGB, 8_8_8_8_SRGB
    constexpr std::array<uint8_t, 4> kBits[] = {{8}, {8, 8}, {8, 8, 8, 8}};
    const bool is_srgb = number >= kSrgb && number < kSrgb + std::size(kBits);
    return is_srgb ? BufferFormat{kBits[number - kSrgb], Numeric::srgb} : unified_format(number);
}

BufferFormat gfx9_format(uint32_t data_and_number) {
    constexpr Numeric kNumbers[] = {Numeric::unorm, Numeric::snorm, Numeric::uscaled, Numeric::sscaled,
                                    Numeric::uint,  Numeric::sint,  Numeric::snorm,   Numeric::real};
    const BufferFormat format{kGfx9Data[data_and_number & 15], kNumbers[data_and_number >> 4 & 7]};
    const bool is_real = format.numeric == Numeric::real;
    const bool too_small = std::ranges::any_of(format.bits, [](uint8_t size) { return size == 2 || size == 8; });
    return is_real && too_small ? BufferFormat{} : format;
}

float small_to_float(uint32_t value, int mantissa, bool has_sign) {
    const uint32_t fraction = value & ((1u << mantissa) - 1), exponent = value >> mantissa & 31;
    const float sign = has_sign && (value >> (mantissa + 5) & 1) ? -1.0f : 1.0f;
    if (exponent == 31) {
        const uint32_t bits = 0x7f800000 | fraction << (23 - mantissa) | (sign < 0 ? 0x80000000u : 0);
        return std::bit_cast<float>(bits);
    }
    const int power = exponent == 0 ? -14 : static_cast<int>(exponent) - 15;
    const double scaled = (exponent == 0 ? 0.0 : 1.0) + std::ldexp(static_cast<double>(fraction), -mantissa);
    return sign * static_cast<float>(std::ldexp(scaled, power));
}

uint32_t float_to_small(float value, int mantissa, bool has_sign) {
    const bool negative = std::signbit(value);
    const uint32_t sign = has_sign && negative ? 1u << (mantissa + 5) : 0;
    const uint32_t infinity = 31u << mantissa;
    if (std::isnan(value)) return sign | infinity | 1u << (mantissa - 1);
    if (negative && !has_sign) return 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    if (std::isinf(value)) return sign | infinity;
    if (magnitude >= 65536.0) return sign | (infinity - 1);
    const int power = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
    const auto units = static_cast<uint32_t>(std::ldexp(magnitude, mantissa - power));  // with the leading bit
    return sign | ((static_cast<uint32_t>(power + 14) << mantissa) + units);
}

uint32_t component_to_register(uint32_t value, uint32_t bits, Numeric numeric) {
    if (numeric == Numeric::uint) return value;
    if (numeric == Numeric::sint) return static_cast<uint32_t>(sign_extend(value, bits));
    if (numeric == Numeric::real && bits == 32) return value;
    return std::bit_cast<uint32_t>(static_cast<float>(real_value(value, bits, numeric)));
}

uint16_t component_to_half(uint32_t value, uint32_t bits, Numeric numeric) {
    if (numeric == Numeric::uint) return static_cast<uint16_t>(value);
    if (numeric == Numeric::sint) return static_cast<uint16_t>(sign_extend(value, bits));
    if (numeric == Numeric::real && bits == 16) return static_cast<uint16_t>(value);
    const double real = real_value(value, bits, numeric);
    if (numeric == Numeric::real) return static_cast<uint16_t>(float_to_small(static_cast<float>(real), 10, true));
    return nearest_half(real);
}

uint32_t component_from_register(uint32_t value, uint32_t bits, Numeric numeric) {
    const float real = std::bit_cast<float>(value);
    const auto mask = largest(bits);
    const double high = largest_signed(bits), low = -high - 1;
    auto integer = [mask](double x) { return static_cast<uint32_t>(static_cast<int64_t>(x)) & mask; };
    switch (numeric) {
        case Numeric::uint: return std::min(value, mask);
        case Numeric::sint: {
            const auto as_signed = static_cast<int32_t>(value);
            return integer(std::clamp<double>(as_signed, low, high));
        }
        case Numeric::unorm: return integer(std::nearbyint(clamped(real, 0, 1) * mask));
        case Numeric::snorm: return integer(std::nearbyint(clamped(real, -1, 1) * high));
        case Numeric::uscaled: return integer(clamped(real, 0, mask));
        case Numeric::sscaled: return integer(clamped(real, low, high));
        default: return bits == 32 ? value : float_to_small(real, mantissa_of(bits), bits == 16);
    }
}

uint32_t component_from_half(uint16_t value, uint32_t bits, Numeric numeric) {
    if (numeric == Numeric::uint) return component_from_register(value, bits, numeric);
    if (numeric == Numeric::sint)
        return component_from_register(static_cast<uint32_t>(static_cast<int16_t>(value)), bits, numeric);
    if (numeric == Numeric::real && bits == 16) return value;
    return component_from_register(std::bit_cast<uint32_t>(small_to_float(value, 10, true)), bits, numeric);
}

}  // namespace strata::emu
