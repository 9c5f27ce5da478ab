#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "traps.h"

// The vector ALU as emulators get it wrong: one fact of the ISA documents a test.
namespace strata::emu {
namespace {

INSTANTIATE_TEST_SUITE_P(Waves, Traps, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

// ---- EXEC ----

TEST_P(Traps, ReadlaneReadfirstlaneAndWritelaneIgnoreExec) {
    for (int lane = 0; lane < lanes; ++lane) v(1, lane) = static_cast<uint32_t>(lane);
    wave.exec = 0;
    run("v_readlane_b32 s0, v1, 7\nv_readfirstlane_b32 s1, v1\nv_writelane_b32 v2, 9, 3");
    EXPECT_EQ(wave.sgpr[0], 7u);
    EXPECT_EQ(wave.sgpr[1], 0u) << "lane 0 where no lane is active";
    EXPECT_EQ(v(2, 3), 9u) << "an inactive lane is written";
}

TEST_P(Traps, CmpxWritesExecAndNothingElse) {
    for (int lane = 0; lane < lanes; ++lane) v(1, lane) = static_cast<uint32_t>(lane);
    wave.vcc = 0x5a;
    wave.exec = full() & ~uint64_t{2};
    run("v_cmpx_gt_u32 4, v1");
    EXPECT_EQ(wave.exec, 0xdu) << "an inactive lane's bit is zero";
    EXPECT_EQ(wave.vcc, 0x5au);
}

TEST_P(Traps, InWave32TheUpperHalvesOfExecAndVccAreOrdinaryScalars) {
    if (lanes != 32) return;  // the masks of wave64 are 64 bits wide
    set(1, 5);
    run("s_mov_b32 exec_hi, 0\ns_mov_b32 vcc_hi, 0x1234\nv_cmp_eq_u32 vcc_lo, 5, v1\nv_add_nc_u32 v2, v1, v1\n"
        "s_mov_b32 s4, vcc_hi\ns_mov_b32 s5, exec_hi\ns_cbranch_execz skip\ns_mov_b32 s6, 1\nskip:");
    EXPECT_EQ(wave.vcc, 0xffffffffu);
    EXPECT_EQ(wave.sgpr[4], 0x1234u) << "a comparison writes 32 bits";
    EXPECT_EQ(wave.sgpr[5], 0u);
    EXPECT_EQ(v(2), 10u) << "exec_hi masks no lane";
    EXPECT_EQ(wave.sgpr[6], 1u);
    run("s_mov_b32 exec_lo, 0\ns_mov_b32 exec_hi, -1\ns_mov_b32 s6, 2\ns_cbranch_execz skip\ns_mov_b32 s6, 3\nskip:");
    EXPECT_EQ(wave.sgpr[6], 2u) << "EXECZ looks at the lower half";
}

// ---- MODE ----

TEST_P(Traps, RoundingOfSinglePrecisionAndOfHalvesAndDoublesAreApart) {
    set(0, kOne), set(1, bits(0x1p-30f));
    EXPECT_EQ(result("v_add_f32 v8, v0, v1", kPlain | kUp16And64), kOne);
    EXPECT_EQ(result("v_add_f32 v8, v0, v1", kPlain | kUp32), kOne + 1);
    set(0, 0x3c00), set(1, 0x0001);
    EXPECT_EQ(result("v_add_f16 v8, v0, v1", kPlain | kUp32) & 0xffff, 0x3c00u);
    EXPECT_EQ(result("v_add_f16 v8, v0, v1", kPlain | kUp16And64) & 0xffff, 0x3c01u);
    set64(0, 1), set64(2, 0x1p-80);
    result("v_add_f64 v[8:9], v[0:1], v[2:3]", kPlain | kUp32);
    EXPECT_EQ(v64(8), std::bit_cast<uint64_t>(1.0));
    result("v_add_f64 v[8:9], v[0:1], v[2:3]", kPlain | kUp16And64);
    EXPECT_EQ(v64(8), std::bit_cast<uint64_t>(1.0) + 1);
}

TEST_P(Traps, AConversionRoundsByItsResultsField) {
    set(0, bits(1.0f + 0x1p-12f));
    EXPECT_EQ(result("v_cvt_f16_f32 v8, v0", kPlain | kUp32) & 0xffff, 0x3c00u);
    EXPECT_EQ(result("v_cvt_f16_f32 v8, v0", kPlain | kUp16And64) & 0xffff, 0x3c01u);
    set(1, 0);
    EXPECT_EQ(result("v_cvt_pk_rtz_f16_f32 v8, v0, v1", kPlain | kUp16And64), 0x3c00u) << "always toward zero";
}

TEST_P(Traps, DenormalsOfSinglePrecisionAndOfHalvesAndDoublesAreApart) {
    set(0, 0x00000007), set(1, 0);
    EXPECT_EQ(result("v_add_f32 v8, v0, v1", kFlush16And64), 7u);
    EXPECT_EQ(result("v_add_f32 v8, v0, v1", kFlush32), 0u);
    EXPECT_EQ(result("v_add_f16 v8, v0, v1", kFlush32) & 0xffff, 7u);
    EXPECT_EQ(result("v_add_f16 v8, v0, v1", kFlush16And64) & 0xffff, 0u);
}

TEST_P(Traps, SelectionsFlushDenormalsButClassesSeeThem) {
    set(0, 0x80000007), set(1, 0xff800000);
    EXPECT_EQ(result("v_max_f32 v8, v0, v1", kPlain), 0x80000007u);
    EXPECT_EQ(result("v_max_f32 v8, v0, v1", kFlush32), 0x80000000u);
    set(2, 1u << 4);  // negative denormal
    wave.vcc = 0;
    wave.mode = kFlush32;
    run("v_cmp_class_f32 " + vcc() + ", v0, v2");
    EXPECT_EQ(wave.vcc, full());
}

TEST_P(Traps, InIeeeModeAMinimumQuietsASignalingNan) {
    set(0, kSignalingNan), set(1, kOne);
    EXPECT_EQ(result("v_min_f32 v8, v0, v1", kPlain), kOne);
    EXPECT_EQ(result("v_min_f32 v8, v0, v1", kPlain | kIeee), kSignalingNan | 0x400000);
    set(0, kNan);
    EXPECT_EQ(result("v_min_f32 v8, v0, v1", kPlain | kIeee), kOne) << "a quiet one loses in either mode";
}

TEST_P(Traps, MinimaOrderTheZeros) {
    set(0, 0), set(1, 0x80000000);
    EXPECT_EQ(result("v_min_f32 v8, v0, v1"), 0x80000000u);
    EXPECT_EQ(result("v_max_f32 v8, v1, v0"), 0u);
    set(1, 0x8000);
    EXPECT_EQ(result("v_min_f16 v8, v0, v1") & 0xffff, 0x8000u);
    EXPECT_EQ(result("v_max_f16 v8, v1, v0") & 0xffff, 0u);
}

TEST_P(Traps, WithFp16OvflAnOverflowIsTheLargestHalfButInfinitiesStay) {
    set(0, 0x7bff7bff), set(1, 0x7c00fc00), set(2, bits(1e6f)), set(3, kInfinity), set(4, 0);
    const uint32_t mode = kPlain | kFp16Ovfl;
    EXPECT_EQ(result("v_add_f16 v8, v0, v0") & 0xffff, 0x7c00u);
    EXPECT_EQ(result("v_add_f16 v8, v0, v0", mode) & 0xffff, 0x7bffu);
    EXPECT_EQ(result("v_add_f16 v8, v1, v0", mode) & 0xffff, 0xfc00u);
    EXPECT_EQ(result("v_cvt_f16_f32 v8, v2", mode) & 0xffff, 0x7bffu);
    EXPECT_EQ(result("v_cvt_f16_f32 v8, v3", mode) & 0xffff, 0x7c00u);
    for (const char* pole : {"v_rcp_f16 v8, v4", "v_rsq_f16 v8, v4"})
        EXPECT_EQ(result(pole, mode) & 0xffff, 0x7c00u) << "a pole is no overflow";
    EXPECT_EQ(result("v_log_f16 v8, v4", mode) & 0xffff, 0xfc00u);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v0", mode), 0x7bff7bffu);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v1", mode), 0x7c00fc00u);
}

// ---- clamp and output modifier ----

TEST_P(Traps, TheOutputModifierIsIgnoredWithDenormalsOrIeee) {
    set(0, bits(3));
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, 0 mul:2", kFlush32), bits(6));
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, 0 mul:2", kPlain), bits(3));
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, 0 mul:2", kFlush32 | kIeee), bits(3));
    set(0, 0x4200);
    EXPECT_EQ(result("v_add_f16_e64 v8, v0, 0 div:2", kFlush16And64) & 0xffff, 0x3e00u);
    EXPECT_EQ(result("v_add_f16_e64 v8, v0, 0 div:2", kFlush32) & 0xffff, 0x4200u);
}

TEST_P(Traps, TheOutputModifierHasNoDenormalsAndNoNegativeZeros) {
    set(0, 0x80000000), set(1, 0x80800000), set(2, 0x00ffffff), set(3, 0x81000000);
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, v0", kFlush32), 0x80000000u);
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, v0 mul:2", kFlush32), 0u);
    EXPECT_EQ(result("v_add_f32_e64 v8, v1, v0 div:2", kFlush32), 0x80000000u);
    EXPECT_EQ(result("v_add_f32_e64 v8, v2, v0 div:2", kFlush32), 0u) << "not rounded up to the least normal number";
    EXPECT_EQ(result("v_add_f32_e64 v8, v3, v0 div:2", kFlush32), 0x80800000u);
}

TEST_P(Traps, ClampMakesNanZeroWithDx10ClampOnly) {
    set(0, kNan);
    EXPECT_EQ(result("v_max_f32_e64 v8, v0, v0 clamp", kPlain | kDx10Clamp), 0u);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(result("v_max_f32_e64 v8, v0, v0 clamp", kPlain))));
    set(0, bits(-2));
    EXPECT_EQ(result("v_add_f32_e64 v8, v0, 0 clamp"), 0u);
}

TEST_P(Traps, ClampSaturatesIntegers) {
    set(0, 0xfffffff0), set(1, 0x20), set(2, 0x7fffffff), set(3, 0x7fff8000), set(4, 0x0001ffff);
    EXPECT_EQ(result("v_add_nc_u32_e64 v8, v0, v1 clamp"), 0xffffffffu);
    EXPECT_EQ(result("v_sub_nc_u32_e64 v8, v1, v0 clamp"), 0u);
    EXPECT_EQ(result("v_add_nc_i32 v8, v2, v1 clamp"), 0x7fffffffu);
    EXPECT_EQ(result("v_pk_add_i16 v8, v3, v4 clamp"), 0x7fff8000u);
    EXPECT_EQ(result("v_pk_add_i16 v8, v3, v4"), 0x80007fffu);
}

TEST_P(Traps, Dx9MultipliesMakeZeroTimesAnythingZero) {
    set(0, 0x80000000), set(1, kInfinity), set(2, bits(7));
    EXPECT_EQ(result("v_mul_dx9_zero_f32 v8, v0, v1"), 0u);
    EXPECT_EQ(result("v_fma_dx9_zero_f32 v8, v1, v0, v2"), bits(7));
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(result("v_mul_f32 v8, v0, v1"))));
}

TEST_P(Traps, FmaMixRoundsOnce) {
    set(0, 0x3c01), set(1, 0x3c01), set(2, bits(-1.0f));  // (1 + 2^-10)^2 - 1
    EXPECT_EQ(result("v_fma_mix_f32 v8, v0, v1, v2 op_sel_hi:[1,1,0]"), bits(0x1p-9f + 0x1p-20f));
    set(0, bits(1 + 0x1p-20f)), set(1, bits(1 + 0x1p-20f));
    EXPECT_EQ(result("v_fma_mix_f32 v8, v0, v1, v2"), bits(0x1p-19f + 0x1p-40f));
}

// ---- numerics ----

TEST_P(Traps, DivScaleMarksAndDivFmasScalesBack) {
    set(0, bits(0x1.8p120f)), set(1, bits(0x1p-20f));
    run("v_div_scale_f32 v8, " + vcc() + ", v1, v1, v0");
    EXPECT_EQ(wave.vcc, full());
    EXPECT_EQ(v(8), bits(0x1p44f));
    set(0, bits(3)), set(1, bits(2)), set(2, bits(0x1p70f));
    wave.vcc = 1u << 5;
    run("v_div_fmas_f32 v8, v0, v1, v2");
    EXPECT_EQ(v(8, 5), bits(0x1p70f * 0x1p50f * 0x1p14f));
    EXPECT_EQ(v(8, 6), bits(0x1p70f)) << "plain where the mask is clear";
}

TEST_P(Traps, DivFixupKnowsTheSpecialQuotients) {
    auto quotient = [&](uint32_t d, uint32_t n) {
        set(0, bits(123)), set(1, d), set(2, n);
        return result("v_div_fixup_f32 v8, v0, v1, v2");
    };
    EXPECT_EQ(quotient(0, 0), 0xffc00000u);
    EXPECT_EQ(quotient(0x80000000, kOne), 0xff800000u);
    EXPECT_EQ(quotient(kInfinity, 0xbf800000), 0x80000000u);
    EXPECT_EQ(quotient(kInfinity, kInfinity), 0xffc00000u);
    EXPECT_EQ(quotient(kSignalingNan, kOne), kSignalingNan | 0x400000);
    EXPECT_EQ(quotient(kOne, kOne), bits(123));
}

TEST_P(Traps, ConversionsToIntegersSaturateAndMakeNanZero) {
    auto converted = [&](const char* to, float x) {
        set(0, bits(x));
        return result(std::string("v_cvt_") + to + "_f32 v8, v0");
    };
    EXPECT_EQ(converted("i32", 3e9f), 0x7fffffffu);
    EXPECT_EQ(converted("i32", -3e9f), 0x80000000u);
    EXPECT_EQ(converted("u32", -1), 0u);
    EXPECT_EQ(converted("u32", 5e9f), 0xffffffffu);
    EXPECT_EQ(converted("i32", std::numeric_limits<float>::quiet_NaN()), 0u);
    EXPECT_EQ(converted("i32", -1.9f), 0xffffffffu) << "toward zero";
    set(0, 0xfff601ff);
    EXPECT_EQ(result("v_sat_pk_u8_i16 v8, v0") & 0xffff, 0x00ffu);
}

TEST_P(Traps, FrexpOfInfinityHasExponentZeroAndLdexpRoundsOnce) {
    set(0, kInfinity);
    EXPECT_EQ(result("v_frexp_exp_i32_f32 v8, v0"), 0u);
    EXPECT_EQ(result("v_frexp_mant_f32 v8, v0"), kInfinity);
    set(0, 1);
    EXPECT_EQ(result("v_frexp_exp_i32_f32 v8, v0"), static_cast<uint32_t>(-148));
    set(0, bits(1.5f)), set(1, static_cast<uint32_t>(-149));
    EXPECT_EQ(result("v_ldexp_f32 v8, v0, v1"), 2u) << "1.5 units, to even";
}

TEST_P(Traps, ExpAndLogNeitherTakeNorGiveDenormals) {
    set(0, bits(-127));
    EXPECT_EQ(result("v_exp_f32 v8, v0"), 0u);
    set(0, 0x00400000);
    EXPECT_EQ(result("v_log_f32 v8, v0"), 0xff800000u);
    set(0, 0x0001);
    EXPECT_EQ(result("v_log_f16 v8, v0") & 0xffff, 0xce00u) << "halves do: log2(2^-24) = -24";
}

TEST_P(Traps, SineAndCosineTakeRevolutions) {
    set(0, bits(0.25f)), set(1, bits(256.5f));
    EXPECT_EQ(result("v_sin_f32 v8, v0"), kOne);
    EXPECT_EQ(result("v_cos_f32 v8, v0") & 0x7fffffff, 0u);
    EXPECT_EQ(result("v_cos_f32 v8, v1"), bits(-1));
}

}  // namespace
}  // namespace strata::emu
