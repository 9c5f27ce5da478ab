#include <gtest/gtest.h>

#include <string>

#include "../one_wave.h"

namespace strata::emu {
namespace {

class ScalarOps : public harness::Gfx11Wave {};

struct ArithmeticCase {
    const char* text;
    uint64_t a, b, result;
    int scc;  // -1: kept
    bool wide = false;
};
const ArithmeticCase kArithmetic[] = {
    {"s_add_u32", 0xffffffff, 1, 0, 1},
    {"s_add_u32", 2, 3, 5, 0},
    {"s_sub_u32", 2, 3, 0xffffffff, 1},
    {"s_sub_u32", 3, 2, 1, 0},
    {"s_add_i32", 0x7fffffff, 1, 0x80000000, 1},
    {"s_sub_i32", 0x80000000, 1, 0x7fffffff, 1},
    {"s_addc_u32", 0xffffffff, 0, 0, 1},
    {"s_subb_u32", 0, 0, 0xffffffff, 1},
    {"s_absdiff_i32", 3, 10, 7, 1},
    {"s_lshl_b32", 3, 33, 6, 1},
    {"s_lshr_b32", 8, 4, 0, 0},
    {"s_ashr_i32", 0x80000000, 31, 0xffffffff, 1},
    {"s_lshl3_add_u32", 0x20000000, 5, 5, 1},
    {"s_min_i32", 0xffffffff, 2, 0xffffffff, 1},
    {"s_max_u32", 0xffffffff, 2, 0xffffffff, 1},
    {"s_max_i32", 0xffffffff, 2, 2, 0},
    {"s_nand_b32", 0xf0, 0xff, 0xffffff0f, 1},
    {"s_and_not1_b32", 0xff, 0xf, 0xf0, 1},
    {"s_or_not1_b32", 0, 0xffffffff, 0, 0},
    {"s_xnor_b32", 5, 5, 0xffffffff, 1},
    {"s_bfe_u32", 0x12345678, 0x80004, 0x67, 1},
    {"s_bfe_i32", 0xf00, 0x40008, 0xffffffff, 1},
    {"s_bfm_b32", 4, 8, 0xf00, -1},
    {"s_mul_i32", 0x10001, 0x10001, 0x20001, -1},
    {"s_mul_hi_u32", 0xffffffff, 0xffffffff, 0xfffffffe, -1},
    {"s_mul_hi_i32", 0xffffffff, 2, 0xffffffff, -1},
    {"s_cselect_b32", 4, 5, 4, -1},
    {"s_pack_lh_b32_b16", 0x12345678, 0x9abcdef0, 0x9abc5678, -1},
    {"s_pack_hh_b32_b16", 0x12345678, 0x9abcdef0, 0x9abc1234, -1},
    {"s_lshl_b64", 1, 40, 1ull << 40, 1, true},
    {"s_ashr_i64", 1ull << 63, 63, ~0ull, 1, true},
    {"s_bfe_u64", 0xabcull << 40, 0xc0028, 0xabc, 1, true},
    {"s_and_b64", 0xff00ff00ff00ull, 0xffff0000ffffull, 0xff000000ff00ull, 1, true},
    {"s_not_b64", ~0ull, 0, 0, 0, true},
    {"s_brev_b32", 1, 0, 0x80000000, -1},
    {"s_ctz_i32_b32", 0, 0, 0xffffffff, -1},
    {"s_ctz_i32_b32", 48, 0, 4, -1},
    {"s_clz_i32_u32", 1, 0, 31, -1},
    {"s_cls_i32", 0xffff0000, 0, 16, -1},
    {"s_sext_i32_i8", 0x80, 0, 0xffffff80, -1},
    {"s_abs_i32", 0xfffffff0, 0, 16, 1},
    {"s_bcnt1_i32_b32", 0xf0f, 0, 8, 1},
    {"s_bcnt0_i32_b32", 0xffffffff, 0, 0, 0},
    {"s_quadmask_b32", 0x00100800, 0, 0x24, 1},
    {"s_wqm_b32", 0x00100800, 0, 0xf00f00, 1},
    {"s_bitset1_b32", 7, 0, 0xdeadbe80 | 0x6f, -1},
    {"s_bitreplicate_b64_b32", 0x80000001, 0, 0xc000000000000003, -1, true},
};

TEST_P(ScalarOps, ScalarArithmeticFollowsTheDocument) {
    for (const ArithmeticCase& c : kArithmetic) {
        std::string name = c.text;
        bool one = name == "s_not_b64" || name.starts_with("s_brev") || name.starts_with("s_c") ||
                   name.starts_with("s_sext") || name.starts_with("s_abs_") || name.starts_with("s_bcnt") ||
                   name.starts_with("s_quad") || name.starts_with("s_wqm") || name.starts_with("s_bit");
        one = one && !name.starts_with("s_cselect");
        wave.sgpr[4] = static_cast<uint32_t>(c.a);
        wave.sgpr[5] = static_cast<uint32_t>(c.a >> 32);
        wave.sgpr[6] = static_cast<uint32_t>(c.b);
        wave.sgpr[7] = static_cast<uint32_t>(c.b >> 32);
        wave.sgpr[8] = 0xdeadbe6f;
        wave.sgpr[9] = 0;
        wave.scc = true;
        bool b64 = c.wide && name.find("bfm") == std::string::npos, b64_b = name.starts_with("s_and_b64");
        std::string from = c.wide && !name.starts_with("s_bitrep") ? "s[4:5]" : "s4";
        std::string text = name + (b64 ? " s[8:9], " : " s8, ") + from + (one ? "" : b64_b ? ", s[6:7]" : ", s6");
        run(text);
        uint64_t result = wave.sgpr[8] | (c.wide ? uint64_t{wave.sgpr[9]} << 32 : 0);
        EXPECT_EQ(result, c.result) << text;
        EXPECT_EQ(wave.scc, c.scc < 0 ? true : c.scc == 1) << text;
    }
}

TEST_P(ScalarOps, ComparesConstantsAndSavesExec) {
    wave.sgpr[4] = 0xfffffff0;
    run("s_cmpk_lt_i32 s4, -15\ns_cselect_b32 s5, 1, 2\ns_cmpk_gt_u32 s4, 0xfff0\ns_cselect_b32 s6, 1, 2\ns_addk_i32 "
        "s4, 0x20\ns_movk_i32 s7, 0x8000\n"
        "s_bitcmp1_b32 s4, 4\ns_cselect_b32 s8, 0.5, -4.0");
    EXPECT_EQ(wave.sgpr[5], 1u);
    EXPECT_EQ(wave.sgpr[6], 1u);
    EXPECT_EQ(wave.sgpr[4], 16u);
    EXPECT_EQ(wave.sgpr[7], 0xffff8000);
    EXPECT_EQ(wave.sgpr[8], 0x3f000000u);
    if (lanes == 32)
        run("s_mov_b32 s10, 0xf0f0\ns_and_saveexec_b32 s12, s10\ns_cselect_b32 s13, 1, 0\ns_and_not1_wrexec_b32 s14, "
            "s10");
    else
        run("s_mov_b64 s[10:11], 0xf0f0\ns_and_saveexec_b64 s[12:13], s[10:11]\ns_and_not1_wrexec_b64 s[14:15], "
            "s[10:11]\ns_mov_b32 s13, 1");
    EXPECT_EQ(wave.sgpr[12], 0xffffffffu);
    EXPECT_EQ(wave.sgpr[13], 1u);
    EXPECT_EQ(wave.sgpr[14], 0u);
    EXPECT_EQ(wave.exec, 0u);
}

TEST_P(ScalarOps, BranchesCallsAndHardwareRegisters) {
    run("s_mov_b32 s0, 5\ns_mov_b32 s1, 0\nloop: s_add_u32 s1, s1, s0\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, "
        "0\ns_cbranch_scc1 loop\n"
        "s_getpc_b64 s[2:3]\ns_call_b64 s[4:5], sub\ns_mov_b32 s6, 1\ns_branch done\nsub: s_mov_b32 s7, 2\ns_setpc_b64 "
        "s[4:5]\ndone: s_mov_b32 s8, 3");
    EXPECT_EQ(wave.sgpr[1], 15u);
    EXPECT_EQ(wave.sgpr[6], 1u);
    EXPECT_EQ(wave.sgpr[7], 2u);
    EXPECT_EQ(wave.sgpr[8], 3u);
    EXPECT_EQ(wave.sgpr[4] - wave.sgpr[2], 4u);
    EXPECT_EQ(wave.instructions, 2 + 5 * 4 + 2 + 2 + 2 + 2u);
    run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x5\ns_getreg_b32 s1, "
        "hwreg(HW_REG_MODE, 0, 8)\ns_denorm_mode 3\n"
        "s_getreg_b32 s2, hwreg(HW_REG_MODE, 4, 4)\ns_mov_b64 s[4:5], src_shared_base\ns_mov_b64 s[6:7], "
        "src_private_base");
    EXPECT_EQ(wave.sgpr[0], 0x3f0u);
    EXPECT_EQ(wave.sgpr[1], 0xf5u);
    EXPECT_EQ(wave.sgpr[2], 3u);
    EXPECT_NE(wave.sgpr[5], wave.sgpr[7]);
}

TEST_P(ScalarOps, BranchesOnVccAndExec) {
    run("s_mov_b64 vcc, 0\ns_cbranch_vccz a\ns_mov_b32 s0, 1\na: s_mov_b64 s[10:11], exec\ns_mov_b64 exec, "
        "0\ns_cbranch_execnz b\ns_mov_b32 s1, 1\nb: s_mov_b64 exec, s[10:11]\n"
        "s_cmp_eq_u32 s0, 0\ns_mov_b32 s4, src_scc");
    EXPECT_EQ(wave.sgpr[0], 0u);
    EXPECT_EQ(wave.sgpr[1], 1u);
    EXPECT_EQ(wave.sgpr[4], 1u);
}

INSTANTIATE_TEST_SUITE_P(Lanes, ScalarOps, ::testing::Values(32, 64));

}  // namespace
}  // namespace strata::emu
