#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace strata::isa {

/// Operand codes: RDNA3's hardware codes of a 9-bit source field (RDNA3 ISA, "Scalar/Vector operand" tables) for all
/// families. Where a family's bits differ (CDNA has M0 at 124) decode() and encode() translate. CDNA marks accumulation
/// registers with a bit of their own; here they are codes 512 to 767.
namespace code {
constexpr uint16_t vcc_lo = 106, vcc_hi = 107, ttmp0 = 108, null = 124, m0 = 125, exec_lo = 126, exec_hi = 127;
constexpr uint16_t inline_zero = 128, inline_64 = 192, inline_minus_one = 193, inline_minus_16 = 208;
constexpr uint16_t shared_base = 235, shared_limit = 236, private_base = 237, private_limit = 238,
                   pops_exiting_wave_id = 239;
constexpr uint16_t inline_half = 240, inline_inv_2pi = 248, vccz = 251, execz = 252, scc = 253, literal = 255;
constexpr uint16_t vgpr0 = 256, agpr0 = 512;
}  // namespace code

constexpr bool is_inline_integer(uint32_t code) { return code >= code::inline_zero && code <= code::inline_minus_16; }
constexpr bool is_inline_real(uint32_t code) { return code >= code::inline_half && code <= code::inline_inv_2pi; }

/// The value of an inline integer's code: 0 to 64, -1 to -16.
constexpr int inline_integer(uint32_t code) {
    return code <= code::inline_64 ? static_cast<int>(code) - code::inline_zero
                                   : code::inline_minus_one - 1 - static_cast<int>(code);
}
constexpr std::optional<uint16_t> inline_integer_code(int64_t value) {
    if (value >= 0 && value <= 64) return static_cast<uint16_t>(code::inline_zero + value);
    if (value >= -16 && value < 0) return static_cast<uint16_t>(code::inline_minus_one - 1 - value);
    return {};
}

/// Formats in which an inline real appears in an operand; `packed`: one of the others, by the instruction.
enum class Reals : uint8_t { f32, f64, f16, bf16, packed };

/// An inline real by its bits.
struct InlineReal {
    std::string_view text;
    uint64_t f64;
    uint32_t f32;
    uint16_t f16;
    constexpr uint64_t bits(Reals format) const {
        if (format == Reals::f64) return f64;
        if (format == Reals::bf16) return f32 >> 16;
        return format == Reals::f16 ? f16 : f32;
    }
};
/// Codes inline_half to inline_inv_2pi (RDNA3 ISA, "Scalar ALU operands").
inline constexpr InlineReal kInlineReals[] = {
    {"0.5", 0x3fe0000000000000, 0x3f000000, 0x3800},        {"-0.5", 0xbfe0000000000000, 0xbf000000, 0xb800},
    {"1.0", 0x3ff0000000000000, 0x3f800000, 0x3c00},        {"-1.0", 0xbff0000000000000, 0xbf800000, 0xbc00},
    {"2.0", 0x4000000000000000, 0x40000000, 0x4000},        {"-2.0", 0xc000000000000000, 0xc0000000, 0xc000},
    {"4.0", 0x4010000000000000, 0x40800000, 0x4400},        {"-4.0", 0xc010000000000000, 0xc0800000, 0xc400},
    {"0.15915494", 0x3fc45f306dc9c882, 0x3e22f983, 0x3118},
};
constexpr const InlineReal& inline_real(uint32_t code) { return kInlineReals[code - code::inline_half]; }
/// The code of the inline real with these bits.
constexpr std::optional<uint16_t> inline_real_code(uint64_t bits, Reals format) {
    for (uint16_t code = code::inline_half; code <= code::inline_inv_2pi; ++code)
        if (inline_real(code).bits(format) == bits) return code;
    return {};
}

}  // namespace strata::isa
