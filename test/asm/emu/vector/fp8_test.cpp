#include "strata/asm/emu/vector/fp8.h"

#include <cmath>

#include "harness.h"
#include "reference.h"

// Floats of one byte: the four formats on the host, and CDNA3's conversions.
namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;
using isa::Arch;

struct ByteFormat {
    const char* name;
    int exponent_bits, mantissa_bits, bias;
    bool fnuz;
    float (*widen)(uint32_t);
    uint32_t (*nearest)(float, bool);
    uint32_t (*stochastic)(float, uint32_t, bool);
};
#define FORMAT(type, exponent, mantissa, bias, fnuz)                                              \
    {#type,                                                                                       \
     exponent,                                                                                    \
     mantissa,                                                                                    \
     bias,                                                                                        \
     fnuz,                                                                                        \
     [](uint32_t x) { return portable::byte_to_float<portable::type>(x); },                       \
     [](float x, bool saturate) { return portable::float_to_byte<portable::type>(x, saturate); }, \
     [](float x, uint32_t random, bool saturate) {                                                \
         return portable::float_to_byte_stochastic<portable::type>(x, random, saturate);          \
     }}
const ByteFormat kFormats[] = {FORMAT(Fp8Fnuz, 4, 3, 8, true), FORMAT(Bf8Fnuz, 5, 2, 16, true),
                               FORMAT(Fp8Ocp, 4, 3, 7, false), FORMAT(Bf8Ocp, 5, 2, 15, false)};
#undef FORMAT

/// The value of a code by the definition of its format.
Wide value_of(const ByteFormat& f, uint32_t code) {
    const Wide nan = std::numeric_limits<Wide>::quiet_NaN(), infinity = std::numeric_limits<Wide>::infinity();
    const int exponent = static_cast<int>(code >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
    const int mantissa = static_cast<int>(code) & ((1 << f.mantissa_bits) - 1), top = (1 << f.exponent_bits) - 1;
    const Wide sign = code & 0x80 ? -1 : 1;
    if (f.fnuz && code == 0x80) return nan;
    if (!f.fnuz && f.exponent_bits == 4 && (code & 0x7f) == 0x7f) return nan;
    if (!f.fnuz && f.exponent_bits == 5 && exponent == top) return mantissa ? nan : sign * infinity;
    if (exponent == 0) return sign * std::ldexp(Wide(mantissa), 1 - f.bias - f.mantissa_bits);
    return sign * std::ldexp(Wide(mantissa + (1 << f.mantissa_bits)), exponent - f.bias - f.mantissa_bits);
}
uint32_t largest(const ByteFormat& f) {
    uint32_t code = 0x7f;
    while (!std::isfinite(value_of(f, code))) code--;
    return code;
}
uint32_t overflow(const ByteFormat& f, uint32_t sign, bool saturate) {
    if (saturate) return sign | largest(f);
    if (f.fnuz) return 0x80;
    return sign | (f.exponent_bits == 4 ? 0x7f : 0x7c);
}
uint32_t special(const ByteFormat& f, float x, bool saturate) {
    const uint32_t sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x)) return f.fnuz ? 0x80 : 0xff;  // a Radeon AI Pro R9700's, of either sign
    return overflow(f, sign, saturate);
}
uint32_t zero(const ByteFormat& f, float x) { return !f.fnuz && std::signbit(x) ? 0x80 : 0; }

/// The nearest code, ties to the even one; past the largest the next one of the sequence would be its value plus a
/// step.
uint32_t nearest_code(const ByteFormat& f, float x, bool saturate) {
    if (!std::isfinite(x)) return special(f, x, saturate);
    const Wide magnitude = std::fabs(Wide(x));
    const uint32_t top = largest(f), sign = std::signbit(x) ? 0x80 : 0;
    uint32_t below = 0;
    while (below < top && value_of(f, below + 1) <= magnitude) below++;
    const Wide low = value_of(f, below);
    const Wide high = below < top ? value_of(f, below + 1) : 2 * low - value_of(f, below - 1);
    const Wide middle = (low + high) / 2;
    const uint32_t code = magnitude > middle || (magnitude == middle && below % 2 == 1) ? below + 1 : below;
    if (code > top) return overflow(f, sign, saturate);
    return code == 0 ? zero(f, x) : code | sign;
}

/// The distance to the code below in 2^drop parts of a step, plus the random ones.
uint32_t stochastic_code(const ByteFormat& f, float x, uint32_t random, bool saturate) {
    if (!std::isfinite(x)) return special(f, x, saturate);
    const int drop = 23 - f.mantissa_bits;
    int exponent;
    std::frexp(x, &exponent);
    const int unit = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;
    const Wide parts = std::floor(std::ldexp(std::fabs(Wide(x)), drop - unit)) + Wide(random >> (32 - drop));
    const Wide rounded = std::ldexp(std::floor(std::ldexp(parts, -drop)), unit);
    const uint32_t sign = std::signbit(x) ? 0x80 : 0, top = largest(f);
    if (rounded > value_of(f, top)) return overflow(f, sign, saturate);
    for (uint32_t code = 1; code <= top; ++code)
        if (value_of(f, code) == rounded) return code | sign;
    return zero(f, x);
}

/// Codes, their neighbours, the ties between them, and what else is special.
std::vector<float> interesting(const ByteFormat& f) {
    std::vector<float> all = {0.0f, -0.0f, 1e-30f, 1e-40f, 1e30f, INFINITY, -INFINITY, NAN, 0x1.fffffep127f};
    for (uint32_t code = 0; code < 255; ++code) {
        const float a = static_cast<float>(value_of(f, code)), b = static_cast<float>(value_of(f, code + 1));
        if (!std::isfinite(a)) continue;
        for (float x : {a, (a + b) / 2, a * 1.03f, a * 4})
            if (std::isfinite(x))
                for (float y : {x, std::nextafter(x, 1e30f), std::nextafter(x, -1e30f)}) all.push_back(y);
    }
    Inputs inputs(11);
    for (int i = 0; i < 1500; ++i) all.push_back(to_float(inputs.dword()));
    for (int i = 0; i < 1500; ++i)
        all.push_back(to_float((static_cast<uint32_t>(inputs.next()) & 0x81ffffff) | (105u + i % 30) << 23));
    return all;
}

TEST(Fp8, EveryCodeHasTheValueOfItsFormat) {
    for (const ByteFormat& f : kFormats)
        for (uint32_t code = 0; code < 256; ++code) {
            const Wide want = value_of(f, code);
            const float got = f.widen(code | 0xabcdef00);
            if (std::isnan(want)) {
                EXPECT_TRUE(std::isnan(got)) << f.name << " " << code;
            } else {
                EXPECT_EQ(float_bits(got), float_bits(static_cast<float>(want))) << f.name << " " << code;
            }
        }
}

TEST(Fp8, NarrowingRoundsToNearestEvenAndOverflowsAsTheFormatSays) {
    for (const ByteFormat& f : kFormats)
        for (float x : interesting(f))
            for (bool saturate : {false, true})
                ASSERT_EQ(f.nearest(x, saturate), nearest_code(f, x, saturate))
                    << f.name << " " << x << (saturate ? " saturating" : "");
}

TEST(Fp8, StochasticRoundingAddsTheRandomBitsToWhatIsCutOff) {
    Inputs inputs(5);
    for (const ByteFormat& f : kFormats)
        for (float x : interesting(f))
            for (uint32_t random : {0u, ~0u, 0x80000000u, static_cast<uint32_t>(inputs.next())}) {
                const bool saturate = inputs.next() & 1;
                ASSERT_EQ(f.stochastic(x, random, saturate), stochastic_code(f, x, random, saturate))
                    << f.name << " " << x << " " << random << (saturate ? " saturating" : "");
            }
}

class Fp8OfCdna3 : public testing::Test {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    /// Runs one instruction with v0, v1 = `a`, `b` and v8 = `old` in all lanes, and gives v8 and v9.
    uint64_t run(const Variant& variant, const std::string& text, uint32_t a, uint32_t b, uint32_t old,
                 uint32_t mode = mode::kPlain) {
        Bench bench(64);
        bench.wave().mode = mode;
        for (int lane = 0; lane < 64; ++lane) bench.v(0, lane) = a, bench.v(1, lane) = b, bench.v(8, lane) = old;
        EXPECT_TRUE(bench.run(variant, assembled(text, 64, Arch::gfx942), Arch::gfx942)) << text << bench.fault();
        for (int lane = 1; lane < 64; ++lane) EXPECT_EQ(bench.v64(8, lane), bench.v64(8, 0)) << text;
        return bench.v64(8, 0);
    }
    static bool same(uint32_t got, Wide want) {
        return std::isnan(want) ? std::isnan(to_float(got)) : got == float_bits(static_cast<float>(want));
    }
};

TEST_F(Fp8OfCdna3, WideningTakesTheSelectedByteOrWord) {
    const uint32_t word = 0x80c57f33;
    const ByteFormat &fp8 = kFormats[0], &bf8 = kFormats[1];
    for (const Variant& variant : variants()) {
        const uint32_t plain = static_cast<uint32_t>(run(variant, "v_cvt_f32_fp8 v8, v0", word, 0, 0));
        EXPECT_TRUE(same(plain, value_of(fp8, 0x33))) << variant.name;
        for (int byte = 0; byte < 4; ++byte) {
            const std::string sel = " src0_sel:BYTE_" + std::to_string(byte);
            const uint32_t code = word >> (8 * byte) & 255;
            EXPECT_TRUE(same(static_cast<uint32_t>(run(variant, "v_cvt_f32_fp8_sdwa v8, v0" + sel, word, 0, 0)),
                             value_of(fp8, code)));
            EXPECT_TRUE(same(static_cast<uint32_t>(run(variant, "v_cvt_f32_bf8_sdwa v8, v0" + sel, word, 0, 0)),
                             value_of(bf8, code)));
        }
        for (int high = 0; high < 2; ++high) {
            const std::string sel = high ? "_sdwa v[8:9], v0 src0_sel:WORD_1" : " v[8:9], v0";
            const uint64_t got = run(variant, "v_cvt_pk_f32_fp8" + sel, word, 0, 0);
            EXPECT_TRUE(same(static_cast<uint32_t>(got), value_of(fp8, word >> (16 * high) & 255)));
            EXPECT_TRUE(same(static_cast<uint32_t>(got >> 32), value_of(fp8, word >> (16 * high + 8) & 255)));
        }
    }
}

TEST_F(Fp8OfCdna3, NarrowingFillsTheChosenPartAndKeepsTheRest) {
    const float a = 3.1f, b = -700.0f;
    const uint32_t old = 0x11223344, ovfl = mode::kPlain | mode::kFp16Ovfl;
    auto pack = [&](const ByteFormat& f, bool saturate) {
        return nearest_code(f, a, saturate) | nearest_code(f, b, saturate) << 8;
    };
    for (const Variant& variant : variants()) {
        for (const ByteFormat& f : {kFormats[0], kFormats[1]}) {
            const std::string name = f.exponent_bits == 4 ? "fp8" : "bf8";
            auto get = [&](const std::string& text, uint32_t second, uint32_t mode) {
                return static_cast<uint32_t>(run(variant, text, float_bits(a), second, old, mode));
            };
            const std::string pk = "v_cvt_pk_" + name + "_f32 v8, v0, v1", sr = "v_cvt_sr_" + name + "_f32 v8, v0, v1";
            EXPECT_EQ(get(pk, float_bits(b), mode::kPlain), (old & 0xffff0000) | pack(f, false)) << name;
            EXPECT_EQ(get(pk, float_bits(b), ovfl), (old & 0xffff0000) | pack(f, true)) << name;
            EXPECT_EQ(get(pk + " op_sel:[0,0,1]", float_bits(b), ovfl), (old & 0xffff) | pack(f, true) << 16) << name;
            // MODE's rounding does not matter.
            EXPECT_EQ(get(pk, float_bits(b), ovfl | 3), (old & 0xffff0000) | pack(f, true)) << name;
            for (uint32_t byte = 0; byte < 4; ++byte)
                for (uint32_t random : {0u, 0xfff00000u, 0x12345678u}) {
                    const std::string select = byte == 0   ? ""
                                               : byte == 1 ? " op_sel:[0,0,1,0]"
                                               : byte == 2 ? " op_sel:[0,0,0,1]"
                                                           : " op_sel:[0,0,1,1]";
                    const uint32_t want = stochastic_code(f, a, random, false);
                    EXPECT_EQ(get(sr + select, random, mode::kPlain),
                              (old & ~(255u << (8 * byte))) | want << (8 * byte))
                        << name << " " << byte << " " << random;
                }
        }
    }
}

}  // namespace
}  // namespace strata::emu
