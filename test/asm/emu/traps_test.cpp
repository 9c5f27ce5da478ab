#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/llvm/assemble.h"
#include "vector/harness.h"

// What emulators get wrong about the vector ALU: one fact of the ISA documents a test.
namespace strata::emu {
namespace {

constexpr uint32_t kPlain = 0xf0, kDx10Clamp = 0x100, kIeee = 0x200, kFp16Ovfl = 1u << 23;
constexpr uint32_t kFlush32 = 0xc0, kFlush16And64 = 0x30, kUp32 = 1, kUp16And64 = 4;
constexpr uint32_t kOne = 0x3f800000, kNan = 0x7fc00000, kSignalingNan = 0x7f800001, kInfinity = 0x7f800000;

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

class Traps : public testing::TestWithParam<int> {
  protected:
    WaveRun wave;
    const int lanes = GetParam();

    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(256 * lanes));
        wave.exec = full();
    }
    uint64_t full() const { return lanes == 32 ? 0xffffffffull : ~0ull; }
    std::string vcc() const { return lanes == 32 ? "vcc_lo" : "vcc"; }
    std::string mask(int sgpr) const {
        return lanes == 32 ? "s" + std::to_string(sgpr)
                           : "s[" + std::to_string(sgpr) + ":" + std::to_string(sgpr + 1) + "]";
    }
    uint32_t& v(int reg, int lane = 5) { return wave.vgpr[static_cast<size_t>(reg * lanes + lane)]; }
    void set(int reg, uint32_t x) {
        for (int lane = 0; lane < lanes; lane++) v(reg, lane) = x;
    }
    void set64(int reg, double x) {
        set(reg, static_cast<uint32_t>(std::bit_cast<uint64_t>(x)));
        set(reg + 1, static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32));
    }
    uint64_t v64(int reg) { return v(reg) | uint64_t{v(reg + 1)} << 32; }
    void run(const std::string& text) {
        auto words = isa::assemble_instructions(text + "\ns_endpgm", isa::Arch::gfx1100, lanes);
        ASSERT_TRUE(words) << words.error().message;
        auto done =
            run_wave(isa::Arch::gfx1100, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, wave);
        ASSERT_TRUE(done) << text << ": " << done.error().message;
    }
    /// The dword that one instruction with destination v8 leaves there, from 0xdeadbeef.
    uint32_t result(const std::string& text, uint32_t mode = kPlain) {
        set(8, 0xdeadbeef), set(9, 0xdeadbeef);
        wave.mode = mode;
        run(text);
        return v(8);
    }
};
INSTANTIATE_TEST_SUITE_P(Waves, Traps, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

// ---- EXEC ----

TEST_P(Traps, ReadlaneReadfirstlaneAndWritelaneIgnoreExec) {
    for (int lane = 0; lane < lanes; lane++) v(1, lane) = static_cast<uint32_t>(lane);
    wave.exec = 0;
    run("v_readlane_b32 s0, v1, 7\nv_readfirstlane_b32 s1, v1\nv_writelane_b32 v2, 9, 3");
    EXPECT_EQ(wave.sgpr[0], 7u);
    EXPECT_EQ(wave.sgpr[1], 0u) << "lane 0 where no lane is active";
    EXPECT_EQ(v(2, 3), 9u) << "an inactive lane is written";
}

TEST_P(Traps, CmpxWritesExecAndNothingElse) {
    for (int lane = 0; lane < lanes; lane++) v(1, lane) = static_cast<uint32_t>(lane);
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
    EXPECT_EQ(result("v_rcp_f16 v8, v4", mode) & 0xffff, 0x7c00u) << "a pole is no overflow";
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

// ---- 16 bits ----

TEST_P(Traps, AHalfResultKeepsTheOtherHalf) {
    set(0, 0x40003c00), set(1, 0x3c003c00);
    EXPECT_EQ(result("v_add_f16 v8, v0, v1"), 0xdead4000u);
    EXPECT_EQ(result("v_fma_f16 v8, v0, v1, v0 op_sel:[1,0,0,1]"), 0x4200beefu);
    EXPECT_EQ(result("v_mov_b16 v8.h, v0.h"), 0x4000beefu);
    EXPECT_EQ(result("v_mov_b16 v8.l, v0.h"), 0xdead4000u);
}

/// A short form as the hardware reads it: bit 7 of a 16-bit operand's register number is its half.
isa::Inst short_form(std::string_view mnemonic, isa::Format format, int dst) {
    isa::Inst inst;
    inst.row = isa::find_row(isa::Family::rdna3, mnemonic, format);
    inst.encoding = format;
    auto vgpr = [](int number) { return static_cast<uint16_t>(isa::code::vgpr0 + number); };
    if (format == isa::Format::VOPC)
        inst.dst[0] = {isa::code::vcc_lo, isa::Type::lanes};
    else
        inst.dst[0] = {vgpr(dst), isa::Type::f16};
    inst.src[0] = {vgpr(128), isa::Type::f16}, inst.src[1] = {vgpr(129), isa::Type::f16};
    return inst;
}

TEST(TrapsOfHalves, ShortFormsNameTheUpperHalfByBitSeven) {
    const isa::Inst add = short_form("v_add_f16", isa::Format::VOP2, 128 + 8),
                    compare = short_form("v_cmp_lt_f16", isa::Format::VOPC, 0);
    ASSERT_NE(add.row, nullptr);
    for (const valu_test::Variant& variant : valu_test::variants()) {
        valu_test::Bench bench(32);
        for (int lane = 0; lane < 32; lane++)
            bench.v(0, lane) = 0x40003c00, bench.v(1, lane) = 0x48004400, bench.v(8, lane) = 0xdeadbeef;
        valu_test::Code code;
        code.ops.resize(3);
        code.ops[0].run = variant.choose(Choice{add, isa::Arch::gfx1100, 32, code.ops[0]});
        code.ops[1].run = variant.choose(Choice{compare, isa::Arch::gfx1100, 32, code.ops[1]});
        code.ops[2].run = [](Wave*, const Op*) -> const Op* { return nullptr; };
        ASSERT_TRUE(bench.run(code));
        EXPECT_EQ(bench.v(8, 3), 0x4900beefu) << variant.name << ": 2 + 8 in the upper half";
        EXPECT_EQ(bench.s64(106), 0xffffffffu) << variant.name;
    }
}

TEST_P(Traps, PackedOperandsTakeHighHalvesSignsAndConstantsByHalf) {
    set(0, 0x40003c00), set(1, 0x44004200);  // {2, 1}, {4, 3}
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v1"), 0x46004400u);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]"), 0x45004500u);
    EXPECT_EQ(result("v_pk_mul_f16 v8, v0, v1 neg_lo:[1,0] neg_hi:[0,1]"), 0xc800c200u);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, 1.0"), 0x40004000u) << "an inline constant has a lower half only";
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, 1.0 op_sel_hi:[1,0]"), 0x42004000u);
}

TEST_P(Traps, IntegerDotProductsTakeSignsAndSaturate) {
    set(0, 0xffffffff), set(1, 0x02020202), set(2, 0x7ffffff0);
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, 0 neg_lo:[1,0,0]"), static_cast<uint32_t>(-8));
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, 0"), 4u * 255 * 2);
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, v2 clamp"), 0x7fffffffu);
    EXPECT_EQ(result("v_dot8_u32_u4 v8, v0, v1, 0"), 4u * 15 * 2);
}

TEST_P(Traps, DotProductsOfBrainFloatsRoundEachSumToEven) {
    set(0, 0x3f803f80), set(1, 0x3b803b80), set(2, 0x3f80);  // 1 + 2^-8 + 2^-8: each sum a tie
    EXPECT_EQ(result("v_dot2_bf16_bf16 v8, v0, v1, v2") & 0xffff, 0x3f80u);
    set(1, 0x3c003b80);  // 1 + 2^-8 (tie, down) + 2^-7
    EXPECT_EQ(result("v_dot2_bf16_bf16 v8, v0, v1, v2") & 0xffff, 0x3f81u);
}

// ---- lanes ----

TEST_P(Traps, DppMasksKeepTheDestinationAndBoundCtrlMakesZeros) {
    for (int lane = 0; lane < lanes; lane++) v(1, lane) = static_cast<uint32_t>(100 + lane);
    result("v_mov_b32_dpp v8, v1 row_shr:1 row_mask:0xf bank_mask:0xf");
    EXPECT_EQ(v(8, 16), 0xdeadbeefu) << "the source lies in another row of 16";
    EXPECT_EQ(v(8, 17), 116u);
    result("v_mov_b32_dpp v8, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
    EXPECT_EQ(v(8, 16), 0u);
    result("v_mov_b32_dpp v8, v1 row_shr:1 row_mask:0xd bank_mask:0xf bound_ctrl:1");
    EXPECT_EQ(v(8, 17), 0xdeadbeefu) << "a row that is masked out";
    EXPECT_EQ(v(8, 1), 100u);
    result("v_mov_b32_dpp v8, v1 row_shr:1 row_mask:0xf bank_mask:0xe");
    EXPECT_EQ(v(8, 1), 0xdeadbeefu) << "a bank that is masked out";
}

TEST_P(Traps, DppReadsInactiveLanesOnlyWithFetchInactive) {
    for (int lane = 0; lane < lanes; lane++) v(1, lane) = static_cast<uint32_t>(100 + lane);
    wave.exec = full() & ~uint64_t{1};
    result("v_mov_b32_dpp v8, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf");
    EXPECT_EQ(v(8, 1), 0xdeadbeefu);
    result("v_mov_b32_dpp v8, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf fi:1");
    EXPECT_EQ(v(8, 1), 100u);
    result("v_mov_b32_dpp v8, v1 dpp8:[0,0,0,0,0,0,0,0]");
    EXPECT_EQ(v(8, 1), 0u);
    result("v_mov_b32_dpp v8, v1 dpp8:[0,0,0,0,0,0,0,0] fi:1");
    EXPECT_EQ(v(8, 1), 100u);
}

TEST_P(Traps, PermlanesReadInactiveLanesByTheirBits) {
    for (int lane = 0; lane < lanes; lane++) v(1, lane) = static_cast<uint32_t>(100 + lane);
    wave.exec = full() & ~uint64_t{1};
    wave.sgpr[0] = wave.sgpr[1] = 0;  // all read lane 0 of their row
    EXPECT_EQ(result("v_permlane16_b32 v8, v1, s0, s1"), 0xdeadbeefu);
    EXPECT_EQ(v(8, 20), 116u);
    EXPECT_EQ(result("v_permlane16_b32 v8, v1, s0, s1 op_sel:[1,0]"), 100u) << "fetch inactive";
    EXPECT_EQ(result("v_permlane16_b32 v8, v1, s0, s1 op_sel:[0,1]"), 0u) << "bound control";
    EXPECT_EQ(result("v_permlanex16_b32 v8, v1, s0, s1"), 116u);
    result("v_permlane64_b32 v8, v1");
    EXPECT_EQ(v(8, 5), lanes == 64 ? 137u : 0xdeadbeefu) << "a scalar no-op in wave32";
}

TEST_P(Traps, RelativeMovesAddM0ToTheRegisterNumber) {
    for (int reg = 0; reg < 8; reg++) set(reg, static_cast<uint32_t>(100 * reg));
    wave.m0 = 2;
    run("v_movrels_b32 v16, v1\nv_movreld_b32 v17, v4");
    EXPECT_EQ(v(16), 300u);
    EXPECT_EQ(v(19), 400u);
    wave.m0 = 3u << 16 | 1;  // destination 3 further, source 1 further
    run("v_movrelsd_2_b32 v20, v4\nv_swaprel_b32 v2, v5");
    EXPECT_EQ(v(23), 500u);
    EXPECT_EQ(v(5), 600u) << "v[2+3] and v[5+1] exchanged";
    EXPECT_EQ(v(6), 500u);
}

TEST_P(Traps, BothHalvesOfADualInstructionReadBeforeEitherWrites) {
    if (lanes != 32) GTEST_SKIP() << "wave32 only";
    set(0, 10), set(1, 20);
    run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
    EXPECT_EQ(v(0), 20u);
    EXPECT_EQ(v(1), 10u);
}

TEST_P(Traps, CarriesAndConditionsOfInactiveLanesAreZero) {
    set(0, 0xffffffff), set(1, 1);
    wave.exec = 0xf0;
    wave.vcc = full();
    run("v_add_co_u32 v8, " + mask(10) + ", v0, v1\nv_cmp_ne_u32 " + vcc() + ", v0, v1");
    EXPECT_EQ(wave.sgpr[10], 0xf0u);
    if (lanes == 64) {
        EXPECT_EQ(wave.sgpr[11], 0u);
    }
    EXPECT_EQ(wave.vcc, 0xf0u);
}

TEST_P(Traps, CarriesAreReadBeforeTheyAreWritten) {
    set(0, 0xffffffff), set(1, 0);
    wave.vcc = 0xf;
    run("v_add_co_ci_u32 v8, " + vcc() + ", v0, v1, " + vcc());
    EXPECT_EQ(wave.vcc, 0xfu);
    EXPECT_EQ(v(8, 3), 0u);
    EXPECT_EQ(v(8, 4), 0xffffffffu);
}

// ---- constants ----

TEST_P(Traps, LiteralsOf64BitsAreHighDwordsOrExtended) {
    set64(0, 0);
    result("v_add_f64 v[8:9], v[0:1], 0x40590000");
    EXPECT_EQ(v64(8), std::bit_cast<uint64_t>(100.0));
    set(2, 0);
    result("v_lshlrev_b64 v[8:9], v2, 0xffff0000");
    EXPECT_EQ(v64(8), 0xffff0000u) << "an unsigned one is extended by zeros";
    result("v_ashrrev_i64 v[8:9], v2, -16");
    EXPECT_EQ(v64(8), ~uint64_t{15});
}

TEST_P(Traps, InlineFloatsHaveThePatternOfTheOperand) {
    EXPECT_EQ(result("v_mov_b32 v8, 1.0"), kOne);
    EXPECT_EQ(result("v_add_f16 v8, 1.0, v20"), 0xdead3c00u);
    EXPECT_EQ(result("v_mul_f32 v8, 0.15915494, 1.0"), 0x3e22f983u);
    EXPECT_EQ(result("v_add_nc_u32 v8, 1.0, v20"), kOne) << "integers take the bits of single precision";
}

TEST_P(Traps, SccNullAndHighScalarsAreSources) {
    wave.scc = true;
    EXPECT_EQ(result("v_mov_b32 v8, src_scc"), 1u);
    EXPECT_EQ(result("v_mov_b32 v8, null"), 0u);
    wave.sgpr[102] = 77;
    EXPECT_EQ(result("v_mov_b32 v8, s102"), 77u) << "an ordinary register";
}

}  // namespace
}  // namespace strata::emu
