#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "traps.h"
#include "vector/harness.h"

// Halves, lanes and constants as emulators get them wrong: one fact of the ISA documents a test.
namespace strata::emu {
namespace {

class TrapsOfLanes : public Traps {};
INSTANTIATE_TEST_SUITE_P(Waves, TrapsOfLanes, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

// ---- 16 bits ----

TEST_P(TrapsOfLanes, AHalfResultKeepsTheOtherHalf) {
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
        for (int lane = 0; lane < 32; ++lane)
            bench.v(0, lane) = 0x40003c00, bench.v(1, lane) = 0x48004400, bench.v(8, lane) = 0xdeadbeef;
        valu_test::Code code;
        ASSERT_TRUE(code.add(variant, add, 32) && code.add(variant, compare, 32));
        code.end();
        ASSERT_TRUE(bench.run(code));
        EXPECT_EQ(bench.v(8, 3), 0x4900beefu) << variant.name << ": 2 + 8 in the upper half";
        EXPECT_EQ(bench.s64(106), 0xffffffffu) << variant.name;
    }
}

TEST_P(TrapsOfLanes, PackedOperandsTakeHighHalvesSignsAndConstantsByHalf) {
    set(0, 0x40003c00), set(1, 0x44004200);  // {2, 1}, {4, 3}
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v1"), 0x46004400u);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]"), 0x45004500u);
    EXPECT_EQ(result("v_pk_mul_f16 v8, v0, v1 neg_lo:[1,0] neg_hi:[0,1]"), 0xc800c200u);
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, 1.0"), 0x40004000u) << "an inline constant has a lower half only";
    EXPECT_EQ(result("v_pk_add_f16 v8, v0, 1.0 op_sel_hi:[1,0]"), 0x42004000u);
}

TEST_P(TrapsOfLanes, IntegerDotProductsTakeSignsAndSaturate) {
    set(0, 0xffffffff), set(1, 0x02020202), set(2, 0x7ffffff0);
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, 0 neg_lo:[1,0,0]"), static_cast<uint32_t>(-8));
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, 0"), 4u * 255 * 2);
    EXPECT_EQ(result("v_dot4_i32_iu8 v8, v0, v1, v2 clamp"), 0x7fffffffu);
    EXPECT_EQ(result("v_dot8_u32_u4 v8, v0, v1, 0"), 4u * 15 * 2);
}

TEST_P(TrapsOfLanes, DotProductsOfBrainFloatsKeepTheUpperPartOfTheirSum) {
    set(0, 0x3f803f80), set(1, 0x3b803b80), set(2, 0x3f80);  // 1 + 2^-8 + 2^-8: nothing is lost on the way
    EXPECT_EQ(result("v_dot2_bf16_bf16 v8, v0, v1, v2") & 0xffff, 0x3f81u);
    set(1, 0x3c003b80);  // 1 + 2^-8 + 2^-7: half a unit is cut off
    EXPECT_EQ(result("v_dot2_bf16_bf16 v8, v0, v1, v2") & 0xffff, 0x3f81u);
}

// ---- lanes ----

TEST_P(TrapsOfLanes, DppMasksKeepTheDestinationAndBoundCtrlMakesZeros) {
    for (int lane = 0; lane < lanes; ++lane) v(1, lane) = static_cast<uint32_t>(100 + lane);
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

TEST_P(TrapsOfLanes, DppReadsInactiveLanesOnlyWithFetchInactive) {
    for (int lane = 0; lane < lanes; ++lane) v(1, lane) = static_cast<uint32_t>(100 + lane);
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

TEST_P(TrapsOfLanes, PermlanesReadInactiveLanesByTheirBits) {
    for (int lane = 0; lane < lanes; ++lane) v(1, lane) = static_cast<uint32_t>(100 + lane);
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

TEST_P(TrapsOfLanes, RelativeMovesAddM0ToTheRegisterNumber) {
    for (int reg = 0; reg < 8; ++reg) set(reg, static_cast<uint32_t>(100 * reg));
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

TEST_P(TrapsOfLanes, BothHalvesOfADualInstructionReadBeforeEitherWrites) {
    if (lanes != 32) GTEST_SKIP() << "wave32 only";
    set(0, 10), set(1, 20);
    run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
    EXPECT_EQ(v(0), 20u);
    EXPECT_EQ(v(1), 10u);
}

TEST_P(TrapsOfLanes, CarriesAndConditionsOfInactiveLanesAreZero) {
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

TEST_P(TrapsOfLanes, CarriesAreReadBeforeTheyAreWritten) {
    set(0, 0xffffffff), set(1, 0);
    wave.vcc = 0xf;
    run("v_add_co_ci_u32 v8, " + vcc() + ", v0, v1, " + vcc());
    EXPECT_EQ(wave.vcc, 0xfu);
    EXPECT_EQ(v(8, 3), 0u);
    EXPECT_EQ(v(8, 4), 0xffffffffu);
}

// ---- constants ----

TEST_P(TrapsOfLanes, LiteralsOf64BitsAreHighDwordsOrExtended) {
    set64(0, 0);
    result("v_add_f64 v[8:9], v[0:1], 0x40590000");
    EXPECT_EQ(v64(8), std::bit_cast<uint64_t>(100.0));
    set(2, 0);
    result("v_lshlrev_b64 v[8:9], v2, 0xffff0000");
    EXPECT_EQ(v64(8), 0xffff0000u) << "an unsigned one is extended by zeros";
    result("v_ashrrev_i64 v[8:9], v2, -16");
    EXPECT_EQ(v64(8), ~uint64_t{15});
}

TEST_P(TrapsOfLanes, InlineFloatsHaveThePatternOfTheOperand) {
    EXPECT_EQ(result("v_mov_b32 v8, 1.0"), kOne);
    EXPECT_EQ(result("v_add_f16 v8, 1.0, v20"), 0xdead3c00u);
    EXPECT_EQ(result("v_mul_f32 v8, 0.15915494, 1.0"), 0x3e22f983u);
    EXPECT_EQ(result("v_add_nc_u32 v8, 1.0, v20"), kOne) << "integers take the bits of single precision";
}

TEST_P(TrapsOfLanes, SccNullAndHighScalarsAreSources) {
    wave.scc = true;
    EXPECT_EQ(result("v_mov_b32 v8, src_scc"), 1u);
    EXPECT_EQ(result("v_mov_b32 v8, null"), 0u);
    wave.sgpr[102] = 77;
    EXPECT_EQ(result("v_mov_b32 v8, s102"), 77u) << "an ordinary register";
}

}  // namespace
}  // namespace strata::emu
