#include "strata/asm/emu/memory/buffer_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace strata::emu {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float real(uint32_t x) { return std::bit_cast<float>(x); }
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(BufferFormat, NumbersNameLayoutsWithXInTheLowestBits) {
    using Bits = std::array<uint8_t, 4>;
    EXPECT_EQ(unified_format(1), (BufferFormat{Bits{8}, Numeric::unorm}));
    EXPECT_EQ(unified_format(22), (BufferFormat{Bits{32}, Numeric::real}));
    EXPECT_EQ(unified_format(30), (BufferFormat{Bits{11, 11, 10}, Numeric::real}));
    EXPECT_EQ(unified_format(31), (BufferFormat{Bits{10, 11, 11}, Numeric::real}));
    EXPECT_EQ(unified_format(37), (BufferFormat{Bits{10, 10, 10, 2}, Numeric::snorm}));
    EXPECT_EQ(unified_format(63), (BufferFormat{Bits{32, 32, 32, 32}, Numeric::real}));
    EXPECT_FALSE(unified_format(0).valid());
    EXPECT_EQ(unified_format(60).bytes(), 12u);
    EXPECT_EQ(unified_format(60).components(), 3);
    // CDNA3 ISA, "Buffer Resource Descriptor": data format 9 is 2_10_10_10, 12 is 16_16_16_16; number format 7 FLOAT
    EXPECT_EQ(gfx9_format(9 | 1 << 4), (BufferFormat{Bits{10, 10, 10, 2}, Numeric::snorm}));
    EXPECT_EQ(gfx9_format(12 | 7 << 4), (BufferFormat{Bits{16, 16, 16, 16}, Numeric::real}));
    EXPECT_EQ(gfx9_format(8 | 4 << 4), (BufferFormat{Bits{2, 10, 10, 10}, Numeric::uint}));
    EXPECT_FALSE(gfx9_format(15).valid());
}

TEST(BufferFormat, EveryComponentOfEveryFormatKeepsItsValue) {
    for (uint32_t number = 0; number < 128 + 64; ++number) {
        const BufferFormat format = number < 128 ? gfx9_format(number) : unified_format(number - 128);
        for (uint32_t size : format.bits) {
            if (size == 0) continue;
            if (format.numeric == Numeric::real) EXPECT_TRUE(size == 10 || size == 11 || size == 16 || size == 32);
            for (uint32_t value : {0u, 1u, (1u << std::min(size - 2, 22u)) - 1}) {
                const uint32_t as_register = component_to_register(value, size, format.numeric);
                EXPECT_EQ(component_from_register(as_register, size, format.numeric), value)
                    << number << " " << size << " bits";
            }
        }
    }
}

TEST(BufferFormat, NormalisedNumbersSpanTheirRange) {
    for (uint32_t size : {2u, 8u, 10u, 16u}) {
        const uint32_t top = (1u << size) - 1;
        EXPECT_EQ(real(component_to_register(0, size, Numeric::unorm)), 0.0f);
        EXPECT_EQ(real(component_to_register(top, size, Numeric::unorm)), 1.0f);
        EXPECT_EQ(real(component_to_register(1, size, Numeric::unorm)), static_cast<float>(1.0 / top));
        EXPECT_EQ(real(component_to_register(top / 2, size, Numeric::snorm)), 1.0f);
        EXPECT_EQ(real(component_to_register(top / 2 + 1, size, Numeric::snorm)), -1.0f);
        EXPECT_EQ(real(component_to_register(top / 2 + 2, size, Numeric::snorm)), -1.0f);
        for (uint32_t value : {0u, 1u, top / 3, top - 1, top}) {
            const uint32_t loaded = component_to_register(value, size, Numeric::unorm);
            EXPECT_EQ(component_from_register(loaded, size, Numeric::unorm), value) << size;
        }
    }
    EXPECT_EQ(component_from_register(bits(0.5f), 8, Numeric::unorm), 128u);
    EXPECT_EQ(component_from_register(bits(7.0f), 8, Numeric::unorm), 255u);
    EXPECT_EQ(component_from_register(bits(-7.0f), 8, Numeric::snorm), 0x81u);
    EXPECT_EQ(component_from_register(bits(NAN), 8, Numeric::unorm), 0u);
}

TEST(BufferFormat, IntegersExtendAndSaturate) {
    EXPECT_EQ(component_to_register(0x3ff, 10, Numeric::sint), 0xffffffffu);
    EXPECT_EQ(component_to_register(0x3ff, 10, Numeric::uint), 0x3ffu);
    EXPECT_EQ(component_to_register(0x80000000, 32, Numeric::sint), 0x80000000u);
    EXPECT_EQ(real(component_to_register(0x80, 8, Numeric::sscaled)), -128.0f);
    EXPECT_EQ(real(component_to_register(0x80, 8, Numeric::uscaled)), 128.0f);
    EXPECT_EQ(component_from_register(300, 8, Numeric::uint), 255u);
    EXPECT_EQ(component_from_register(static_cast<uint32_t>(-300), 8, Numeric::sint), 0x80u);
    EXPECT_EQ(component_from_register(0x80000000, 32, Numeric::sint), 0x80000000u);
    EXPECT_EQ(component_from_register(bits(-3.9f), 8, Numeric::sscaled), 0xfdu);
    EXPECT_EQ(component_from_register(bits(kInf), 16, Numeric::uscaled), 0xffffu);
}

TEST(BufferFormat, EverySmallFloatComesBackFromASingle) {
    for (int mantissa : {5, 6, 10}) {
        const bool has_sign = mantissa == 10;
        const uint32_t count = 1u << (mantissa + 5 + has_sign);
        for (uint32_t value = 0; value < count; ++value) {
            const float x = small_to_float(value, mantissa, has_sign);
            if (std::isnan(x)) continue;
            ASSERT_EQ(float_to_small(x, mantissa, has_sign), value) << mantissa;
            const float above = std::nextafterf(x, kInf);  // cut toward zero
            if (!std::signbit(x) && !std::isinf(x) && !std::isinf(above)) {
                ASSERT_EQ(float_to_small(above, mantissa, has_sign), value) << mantissa;
            }
        }
    }
    EXPECT_EQ(small_to_float(1, 10, true), 0x1p-24f);
    EXPECT_EQ(small_to_float(0x3c00, 10, true), 1.0f);
    EXPECT_EQ(small_to_float(0x3c0, 6, false), 1.0f);
    EXPECT_EQ(float_to_small(-1.0f, 6, false), 0u);
    EXPECT_EQ(float_to_small(1e9f, 10, true), 0x7bffu);
    EXPECT_EQ(float_to_small(-kInf, 10, true), 0xfc00u);
    EXPECT_TRUE(std::isnan(small_to_float(float_to_small(NAN, 5, false), 5, false)));
}

TEST(BufferFormat, HalvesAreRoundedOnce) {
    EXPECT_EQ(component_to_half(255, 8, Numeric::unorm), 0x3c00u);
    EXPECT_EQ(component_to_half(0x81, 8, Numeric::snorm), 0xbc00u);
    EXPECT_EQ(component_to_half(0x1234, 16, Numeric::real), 0x1234u);
    EXPECT_EQ(component_to_half(0x12345678, 32, Numeric::uint), 0x5678u);
    EXPECT_EQ(component_to_half(bits(1.5f), 32, Numeric::real), 0x3e00u);
    EXPECT_EQ(component_from_half(0x3c00, 32, Numeric::real), bits(1.0f));
    EXPECT_EQ(component_from_half(0x3800, 8, Numeric::unorm), 128u);
    EXPECT_EQ(component_from_half(0xffff, 8, Numeric::sint), 0xffu);
    for (uint32_t value = 0; value <= 0xffff; value += 13) {  // no half is nearer
        const uint16_t half = component_to_half(value, 16, Numeric::unorm);
        auto error = [&](int bits) {
            return std::fabs(small_to_float(static_cast<uint32_t>(bits), 10, true) - value / 65535.0);
        };
        ASSERT_LE(error(half), error(half + 1));
        if (half) {
            ASSERT_LE(error(half), error(half - 1));
        }
    }
    EXPECT_EQ(component_to_half(0x3f8fffff, 32, Numeric::real), 0x3c7fu);  // singles are truncated
    EXPECT_EQ(component_to_half(0xffff, 16, Numeric::uscaled), 0x7c00u);
    EXPECT_EQ(component_to_half(0x8001, 16, Numeric::sscaled), 0xf800u);
}

}  // namespace
}  // namespace strata::emu
