#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>

#include "../one_wave.h"

namespace strata::emu::harness {
namespace {

class Gfx12Scalars : public OneWave, public ::testing::WithParamInterface<int> {
  protected:
    Gfx12Scalars() : OneWave(isa::Arch::gfx1201, GetParam()) {}
};

// RDNA4's scalar floats against the host's arithmetic in the same rounding mode.

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float flushed(float x, bool keep) { return !keep && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

constexpr int kHostRounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
const float kSingles[] = {0.0f,     -0.0f,      1.0f,   -1.0f,  1.5f,        0.1f,       -0.1f,     3.0e38f,  -3.0e38f,
                          1e-38f,   -1.2e-38f,  1e-45f, 3e-42f, 16777216.0f, 1.0000001f, 2.5f,      -2.5f,    0.5f,
                          INFINITY, -INFINITY,  NAN,    4e9f,   -3e9f,       2147483520, 1e-20f,    7e-20f,   65504.0f,
                          65520.0f, 65519.996f, 6e-8f,  -3e-8f, 2.98e-8f,    6.1e-5f,    -6.09e-5f, 1234.567f};

struct Reference {
    const char* name;
    float (*of)(float, float, float);
};
// volatile: nothing may be computed ahead in another rounding mode.
const Reference kArithmetic[] = {
    {"s_add_f32",
     [](float a, float b, float) {
         volatile float x = a, y = b;
         return x + y;
     }},
    {"s_sub_f32",
     [](float a, float b, float) {
         volatile float x = a, y = b;
         return x - y;
     }},
    {"s_mul_f32",
     [](float a, float b, float) {
         volatile float x = a, y = b;
         return x * y;
     }},
    {"s_fmac_f32",
     [](float a, float b, float d) {
         volatile float x = a, y = b, z = d;
         return std::fma(x, y, z);
     }},
};

TEST_P(Gfx12Scalars, FloatArithmeticRoundsAndFlushesAsModeSays) {
    for (const Reference& reference : kArithmetic) {
        Code code = assembled(std::string(reference.name) + " s4, s2, s3");
        for (uint32_t mode : {0xf0u, 0xf1u, 0xf2u, 0xf3u, 0xc0u, 0xd0u, 0xe0u}) {
            const bool in = mode & 0x10, out = mode & 0x20;
            for (float a : kSingles)
                for (float b : kSingles) {
                    const float d = a * 0.37f - b;
                    wave.mode = mode;
                    wave.sgpr[2] = bits(a), wave.sgpr[3] = bits(b), wave.sgpr[4] = bits(d);
                    run(code);
                    std::fesetround(kHostRounding[mode & 3]);
                    const float want = flushed(reference.of(flushed(a, in), flushed(b, in), flushed(d, in)), out);
                    std::fesetround(FE_TONEAREST);
                    const float got = std::bit_cast<float>(wave.sgpr[4]);
                    if (std::isnan(want)) {
                        ASSERT_TRUE(std::isnan(got)) << reference.name << " " << a << " " << b << " " << d;
                    } else {
                        ASSERT_EQ(bits(got), bits(want))
                            << reference.name << " mode " << mode << ": " << a << ", " << b << ", " << d;
                    }
                }
        }
    }
}

/// All finite halves in ascending order of value: the reference searches for neighbours.
double half_value(uint32_t h) {
    const int exponent = h >> 10 & 31;
    const double magnitude = exponent == 0 ? std::ldexp(h & 1023, -24) : std::ldexp((h & 1023) | 1024, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}
uint32_t rounded_half(double x, uint32_t rounding) {
    const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    uint32_t low = 0, high = 0x7c00;  // the largest half not above the magnitude, by bisection
    while (high - low > 1) (half_value((low + high) / 2) <= magnitude ? low : high) = (low + high) / 2;
    const double below = half_value(low), above = low == 0x7bff ? 65536.0 : half_value(low + 1);
    if (magnitude == below || std::isinf(x)) return sign | (std::isinf(x) ? 0x7c00 : low);
    bool away = (rounding == 1 && !sign) || (rounding == 2 && sign);
    if (rounding == 0)
        away = magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1));
    return sign | (low + away);
}

TEST_P(Gfx12Scalars, HalfPrecisionRoundsOnce) {
    const uint32_t halves[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x3c00, 0xbc00,
                               0x3c01, 0x7bff, 0xfbff, 0x2e66, 0x0fff, 0x5640, 0x7800};
    for (const char* name : {"s_add_f16", "s_mul_f16", "s_fmac_f16"}) {
        Code code = assembled(std::string(name) + " s4, s2, s3");
        for (uint32_t rounding = 0; rounding < 4; ++rounding)
            for (uint32_t a : halves)
                for (uint32_t b : halves) {
                    wave.mode = 0xf0 | rounding << 2;
                    wave.sgpr[2] = a | 0xabcd0000, wave.sgpr[3] = b;
                    const uint32_t d = wave.sgpr[4] = 0x3c00;
                    run(code);
                    const double x = half_value(a), y = half_value(b);
                    double want = name[2] == 'a' ? x + y : name[2] == 'm' ? x * y : x * y + half_value(d);
                    if (want == 0 && name[2] != 'm' && (x != 0 || std::signbit(x) != std::signbit(y)))
                        want = rounding == 2 ? -0.0 : 0.0;
                    ASSERT_EQ(wave.sgpr[4], rounded_half(want, rounding))
                        << name << " " << a << " " << b << " " << rounding;
                }
    }
}

TEST_P(Gfx12Scalars, ConversionsAndRoundingToIntegers) {
    Code code = assembled(R"(
        s_cvt_i32_f32 s10, s2
        s_cvt_u32_f32 s11, s2
        s_ceil_f32 s12, s2
        s_floor_f32 s13, s2
        s_trunc_f32 s14, s2
        s_rndne_f32 s15, s2
        s_cvt_f16_f32 s16, s2
        s_cvt_f32_f16 s17, s16
        s_cvt_pk_rtz_f16_f32 s18, s2, s2
        s_cvt_hi_f32_f16 s19, s18
    )");
    for (float a : kSingles) {
        if (std::isnan(a)) continue;
        wave.mode = 0xf0;
        wave.sgpr[2] = bits(a);
        run(code);
        const double clamped = std::fmin(std::fmax(a, -2147483648.0), 2147483647.0);
        EXPECT_EQ(static_cast<int32_t>(wave.sgpr[10]), static_cast<int32_t>(clamped)) << a;
        EXPECT_EQ(wave.sgpr[11], static_cast<uint32_t>(std::fmin(std::fmax(a, 0.0), 4294967295.0))) << a;
        EXPECT_EQ(wave.sgpr[12], bits(std::ceil(a))) << a;
        EXPECT_EQ(wave.sgpr[13], bits(std::floor(a))) << a;
        EXPECT_EQ(wave.sgpr[14], bits(std::trunc(a))) << a;
        EXPECT_EQ(wave.sgpr[15], bits(std::nearbyint(a))) << a;
        EXPECT_EQ(wave.sgpr[16], rounded_half(a, 0)) << a;
        const uint32_t half = wave.sgpr[16];
        const float back = half == 0x7c00   ? INFINITY
                           : half == 0xfc00 ? -INFINITY
                                            : static_cast<float>(half_value(half));
        EXPECT_EQ(wave.sgpr[17], bits(back)) << a;
        EXPECT_EQ(wave.sgpr[18], rounded_half(a, 3) * 0x10001) << a;
        const uint32_t cut = rounded_half(a, 3);
        if (!std::isinf(a)) {
            EXPECT_EQ(wave.sgpr[19], bits(static_cast<float>(half_value(cut)))) << a;
        }
    }
    wave.sgpr[2] = 0x7fc00000;
    run("s_cvt_i32_f32 s4, s2\ns_cvt_u32_f32 s5, s2\ns_cvt_f32_i32 s6, -3\ns_cvt_f32_u32 s7, -1");
    EXPECT_EQ(wave.sgpr[4], 0u);
    EXPECT_EQ(wave.sgpr[5], 0u);
    EXPECT_EQ(wave.sgpr[6], bits(-3.0f));
    EXPECT_EQ(wave.sgpr[7], bits(4294967296.0f));
}

TEST_P(Gfx12Scalars, MinimumAndMaximumTreatNanAndZeroByName) {
    const uint32_t nan = 0x7fc00123, signalling = 0x7f800001, minus_zero = 0x80000000, one = 0x3f800000;
    auto result = [&](const char* name, uint32_t a, uint32_t b) {
        wave.sgpr[2] = a, wave.sgpr[3] = b;
        run(std::string(name) + " s4, s2, s3");
        return wave.sgpr[4];
    };
    EXPECT_EQ(result("s_min_num_f32", nan, one), one);
    EXPECT_EQ(result("s_max_num_f32", one, nan), one);
    EXPECT_EQ(result("s_min_num_f32", 0, minus_zero), minus_zero);
    EXPECT_EQ(result("s_max_num_f32", minus_zero, 0), 0u);
    EXPECT_EQ(result("s_minimum_f32", one, nan), nan);
    EXPECT_EQ(result("s_maximum_f32", nan, signalling), nan);
    EXPECT_EQ(result("s_maximum_f32", signalling, nan), signalling | 0x400000);
    EXPECT_EQ(result("s_minimum_f32", minus_zero, 0), minus_zero);
    EXPECT_EQ(result("s_maximum_f16", 0x3c00, 0x4000), 0x4000u);
}

TEST_P(Gfx12Scalars, FloatComparesKnowUnordered) {
    struct Case {
        const char* name;
        bool less, equal, greater, unordered;
    };
    const Case cases[] = {{"lt", 1, 0, 0, 0},  {"eq", 0, 1, 0, 0},  {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},
                          {"lg", 1, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"o", 1, 1, 1, 0},   {"u", 0, 0, 0, 1},
                          {"nge", 1, 0, 0, 1}, {"nlg", 0, 1, 0, 1}, {"ngt", 1, 1, 0, 1}, {"nle", 0, 0, 1, 1},
                          {"neq", 1, 0, 1, 1}, {"nlt", 0, 1, 1, 1}};
    for (const Case& c : cases)
        for (const char* type : {"f32", "f16"}) {
            const bool half = type[1] == '1';
            const uint32_t one = half ? 0x3c00 : bits(1.0f), two = half ? 0x4000 : bits(2.0f),
                           nan = half ? 0x7e00 : 0x7fc00000;
            auto compare = [&](uint32_t a, uint32_t b) {
                wave.sgpr[2] = a, wave.sgpr[3] = b;
                run(std::string("s_cmp_") + c.name + "_" + type + " s2, s3");
                return wave.scc;
            };
            EXPECT_EQ(compare(one, two), c.less) << c.name << type;
            EXPECT_EQ(compare(one, one), c.equal) << c.name << type;
            EXPECT_EQ(compare(two, one), c.greater) << c.name << type;
            EXPECT_EQ(compare(nan, one), c.unordered) << c.name << type;
        }
}

TEST_P(Gfx12Scalars, WideArithmeticAndNewNames) {
    wave.sgpr[2] = 0xffffffff, wave.sgpr[3] = 1;
    wave.sgpr[4] = 3, wave.sgpr[5] = 0x10;
    run(R"(
        s_add_nc_u64 s[6:7], s[2:3], s[4:5]
        s_sub_nc_u64 s[8:9], s[2:3], s[4:5]
        s_mul_u64 s[10:11], s[2:3], s[4:5]
        s_add_co_u32 s12, s2, s4
        s_add_co_ci_u32 s13, s3, s5
        s_addk_co_i32 s4, 0x10
        s_fmaak_f32 s14, 2.0, 4.0, 0x3f800000
        s_fmamk_f32 s15, 2.0, 0x3f000000, 4.0
    )");
    const uint64_t a = 0x1ffffffffull, b = 0x1000000003ull;
    EXPECT_EQ(pair(6), a + b);
    EXPECT_EQ(pair(8), a - b);
    EXPECT_EQ(pair(10), a * b);
    EXPECT_EQ(wave.sgpr[12] | uint64_t{wave.sgpr[13]} << 32, a + b);
    EXPECT_EQ(wave.sgpr[4], 0x13u);
    EXPECT_EQ(wave.sgpr[14], bits(9.0f));
    EXPECT_EQ(wave.sgpr[15], bits(5.0f));
}

TEST_P(Gfx12Scalars, ModeHasNoClampAndIeeeBitsAndSccIsInStatePriv) {
    wave.mode = 0xf0;
    wave.scc = true;
    run("s_getreg_b32 s4, hwreg(HW_REG_MODE)\ns_getreg_b32 s5, hwreg(HW_REG_STATE_PRIV, 9, 1)\ns_setreg_imm32_b32 "
        "hwreg(HW_REG_MODE, 0, 10), 0x3f5");
    EXPECT_EQ(wave.sgpr[4], 0xf0u);
    EXPECT_EQ(wave.sgpr[5], 1u);
    EXPECT_EQ(wave.mode, 0xf5u);
}

TEST_P(Gfx12Scalars, SmallLoadsExtendAndOddSizesLoad) {
    std::vector<uint8_t> bytes(64);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(0xf0 + i);
    wave.memory = {{0x10000, bytes}};
    wave.sgpr[2] = 0x10000, wave.sgpr[3] = 0;
    run("s_load_i8 s8, s[2:3], 3\ns_load_u8 s9, s[2:3], 3\ns_load_i16 s10, s[2:3], 2\ns_load_u16 s11, s[2:3], "
        "2\ns_load_b96 "
        "s[12:14], s[2:3], 4\ns_wait_kmcnt 0\ns_prefetch_data s[2:3], 0, null, 0");
    EXPECT_EQ(wave.sgpr[8], 0xfffffff3u);
    EXPECT_EQ(wave.sgpr[9], 0xf3u);
    EXPECT_EQ(wave.sgpr[10], 0xfffff3f2u);
    EXPECT_EQ(wave.sgpr[11], 0xf3f2u);
    EXPECT_EQ(wave.sgpr[14], 0xfffefdfcu);
}

TEST_P(Gfx12Scalars, ALoneWavePassesItsSplitBarrierOnceForEachSignal) {
    run("s_barrier_signal -1\ns_barrier_wait -1\ns_barrier_signal_isfirst -1\ns_cselect_b32 s4, 1, "
        "0\ns_get_barrier_state s5, "
        "-1\ns_barrier_wait -1\ns_mov_b32 s6, 3");
    EXPECT_EQ(wave.sgpr[4], 1u);
    EXPECT_EQ(wave.sgpr[5], 0x11u);
    EXPECT_EQ(wave.sgpr[6], 3u);
    auto stuck = attempt("s_barrier_wait -1");
    ASSERT_FALSE(stuck);
    EXPECT_NE(stuck.error().message.find("not signalled"), std::string::npos) << stuck.error().message;
}

INSTANTIATE_TEST_SUITE_P(Lanes, Gfx12Scalars, ::testing::Values(32, 64));

}  // namespace
}  // namespace strata::emu::harness
