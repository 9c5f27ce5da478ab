#pragma once
#include "strata/asm/emu/vector/half.h"

// Floats of one byte. FNUZ formats (CDNA3 ISA 7.2) have one zero, one NaN (0x80) and no infinity. OCP formats (RDNA4)
// have both zeros, and an infinity in bf8 only. Of their several NaN gfx1201 gives the negative one only
// (ROCm/rocm-systems, emulation/rocjitsu). Lane by lane, without branches, so that loops around these functions
// vectorise; nothing here depends on the host's rounding or denormal mode.
namespace strata::emu::STRATA_EMU_VARIANT {

struct Fp8Fnuz {
    static constexpr uint32_t mantissa_bits = 3, bias = 8, largest = 0x7f, overflow = 0x80, nan = 0x80;
    static constexpr bool fnuz = true;
};
struct Bf8Fnuz {
    static constexpr uint32_t mantissa_bits = 2, bias = 16, largest = 0x7f, overflow = 0x80, nan = 0x80;
    static constexpr bool fnuz = true;
};
struct Fp8Ocp {
    static constexpr uint32_t mantissa_bits = 3, bias = 7, largest = 0x7e, overflow = 0x7f, nan = 0xff;
    static constexpr bool fnuz = false;
};
struct Bf8Ocp {
    static constexpr uint32_t mantissa_bits = 2, bias = 15, largest = 0x7b, overflow = 0x7c, nan = 0xff;
    static constexpr bool fnuz = false;
};

/// Exact; of the upper 24 bits nothing is read.
template <class F>
STRATA_EMU_INLINE float byte_to_float(uint32_t byte) {
    constexpr float kUnit = __builtin_bit_cast(float, (128 - F::bias - F::mantissa_bits) << 23);  // of the denormals
    const uint32_t magnitude = byte & 0x7f, sign = (byte & 0x80) << 24;
    const uint32_t normal = (magnitude << (23 - F::mantissa_bits)) + ((127 - F::bias) << 23);
    const uint32_t tiny = bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * kUnit);
    const uint32_t finite = sign | (magnitude < 1u << F::mantissa_bits ? tiny : normal);
    if constexpr (F::fnuz) return float_of((byte & 0xff) == F::nan ? 0x7fc00000u : finite);
    const uint32_t special = F::overflow <= 0x7c && magnitude == F::overflow ? sign | 0x7f800000u : 0xffc00000u;
    return float_of(magnitude > F::largest ? special : finite);
}

/// Sign, NaN and overflow around a rounded magnitude. An infinity overflows. `saturate` is MODE.FP16_OVFL.
template <class F>
STRATA_EMU_INLINE uint32_t finish_byte(float x, uint32_t rounded, bool saturate) {
    const uint32_t sign = bits_of(x) >> 24 & 0x80, magnitude = bits_of(x) & 0x7fffffffu;
    const bool too_large = rounded > F::largest || magnitude >= 0x7f800000u;
    const uint32_t limited = too_large ? (saturate ? F::largest : F::overflow) : rounded;
    const uint32_t code = magnitude > 0x7f800000u ? F::nan : limited;
    if constexpr (F::fnuz) return code == 0 ? 0 : code | (code == F::nan ? 0 : sign);
    return code | sign;
}

/// How far below the format's normal numbers a float of this exponent field lies, `most` at most.
template <class F>
STRATA_EMU_INLINE uint32_t denormal_steps(uint32_t exponent, uint32_t most) {
    constexpr uint32_t kLeastNormal = 128 - F::bias;
    const uint32_t steps = exponent < kLeastNormal ? kLeastNormal - exponent : 0;
    return steps < most ? steps : most;
}

/// To nearest even.
template <class F>
STRATA_EMU_INLINE uint32_t float_to_byte(float x, bool saturate) {
    constexpr uint32_t kDrop = 23 - F::mantissa_bits;
    const uint32_t magnitude = bits_of(x) & 0x7fffffffu, exponent = magnitude >> 23;
    const uint32_t steps = denormal_steps<F>(exponent, 8), drop = kDrop + steps;  // 8 leave less than half a unit
    const uint32_t significand = steps ? (magnitude & 0x7fffffu) | 0x800000u : magnitude - ((127 - F::bias) << 23);
    const uint32_t rounded = (significand + (1u << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop;
    return finish_byte<F>(x, rounded, saturate);
}

/// Stochastic: as many of the upper bits of `random` as a normal number loses are added to the lost bits, carries and
/// all. The sum is cut off. A denormal is first cut to that many lost bits.
template <class F>
STRATA_EMU_INLINE uint32_t float_to_byte_stochastic(float x, uint32_t random, bool saturate) {
    constexpr uint32_t kDrop = 23 - F::mantissa_bits;
    const uint32_t magnitude = bits_of(x) & 0x7fffffffu, exponent = magnitude >> 23;
    const uint32_t steps = denormal_steps<F>(exponent, 31);
    const uint32_t denormal = ((magnitude & 0x7fffffu) | 0x800000u) >> steps;
    const uint32_t significand = steps ? denormal : magnitude - ((127 - F::bias) << 23);
    return finish_byte<F>(x, (significand + (random >> (32 - kDrop))) >> kDrop, saturate);
}

}  // namespace strata::emu::STRATA_EMU_VARIANT
