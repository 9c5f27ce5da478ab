#include "strata/asm/lint/hazards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "path.h"

// Each rule of distance by itself.
namespace strata::lint {
namespace {

using harness::Path;
using isa::Arch;
using isa::Inst;

struct Rule {
    std::string_view name, words, clock;
};
constexpr Rule kRules[] = {
#define HAZARD(families, waves, name, producer, leaves, where, consumer, meets, clock, needs, ended, fix, words, ...) \
    {#name, words, #clock},
#include "strata/asm/lint/hazards.def"
#undef HAZARD
};
std::string_view words_of(std::string_view rule) {
    for (const Rule& row : kRules)
        if (row.name == rule) return row.words;
    ADD_FAILURE() << "no rule " << rule;
    return {};
}

Path path_of(std::string_view arch, int wave_size, std::string_view text) {
    return Path::of(isa::parse_arch(arch).value(), text, wave_size);
}

/// A pair that breaks a rule until `needs` wait states are between the two.
struct Example {
    std::string_view rule, arch;
    int needs;
    std::string_view first, second;
};
constexpr Example kExamples[] = {
    {"scalar_memory_operand", "gfx90a", 5, "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]"},
    {"scalar_memory_operand", "gfx942", 5, "v_cmp_eq_u32_e64 s[4:5], v0, v1",
     "buffer_load_dword v1, v2, s[8:11], s5 offen"},
    {"division_mask", "gfx90a", 4, "v_cmp_eq_u32_e32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5"},
    {"division_mask", "gfx942", 4, "v_div_scale_f32 v2, vcc, v3, v3, v4", "v_div_fmas_f32 v2, v3, v4, v5"},
    {"lane_select", "gfx90a", 4, "v_readfirstlane_b32 s4, v0", "v_readlane_b32 s6, v2, s4"},
    {"lane_select", "gfx942", 4, "v_readfirstlane_b32 s4, v0", "v_writelane_b32 v3, 7, s4"},
    {"zero_flag", "gfx90a", 5, "v_cmp_eq_u32_e32 vcc, v0, v1", "v_mov_b32_e32 v2, src_vccz"},
    {"zero_flag", "gfx942", 5, "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mov_b32_e32 v2, src_execz"},
    {"get_after_set", "gfx90a", 2, "s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)"},
    {"set_after_set", "gfx942", 2, "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 3", "s_setreg_b32 hwreg(HW_REG_MODE), s1"},
    {"return_after_set", "gfx90a", 1, "s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0", "s_rfe_b64 s[2:3]"},
    {"m0_user", "gfx942", 1, "s_mov_b32 m0, s1", "global_load_lds_dword v[0:1], off"},
    {"m0_user", "gfx90a", 1, "s_mov_b32 m0, s1", "ds_read_addtid_b32 v0"},
    {"m0_user", "gfx90a", 1, "s_mov_b32 m0, s1", "s_sendmsg sendmsg(MSG_INTERRUPT)"},
    {"m0_user", "gfx90a", 1, "s_mov_b32 m0, s1", "s_movrels_b32 s3, s4"},
    {"dpp_operand", "gfx90a", 2, "v_mov_b32_e32 v1, v0", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf"},
    {"dpp_mask", "gfx942", 5, "v_cmpx_eq_u32_e32 vcc, v0, v1",
     "v_mov_b32_dpp v2, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"},
    {"store_data", "gfx90a", 1, "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v5, 0"},
    {"store_data", "gfx90a", 1, "buffer_store_dwordx3 v[4:6], v0, s[8:11], 0 offen", "v_mov_b32_e32 v6, 0"},
    {"store_data_940", "gfx942", 2, "flat_store_dwordx3 v[0:1], v[4:6]", "v_mov_b32_e32 v5, 0"},
    {"store_data_940", "gfx942", 2, "global_atomic_cmpswap_x2 v[0:1], v[4:7], off", "v_mov_b32_e32 v7, 0"},
    {"trans_result", "gfx942", 1, "v_rcp_f32_e32 v1, v0", "v_mul_f32_e32 v2, v1, v1"},
    {"shifted_result", "gfx942", 1,
     "v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
     "v_add_u32_e32 v4, v1, v1"},
    {"shifted_result", "gfx942", 1, "v_mad_f16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_add_u32_e32 v4, v1, v1"},
    {"scalar_operand", "gfx942", 2, "v_readfirstlane_b32 s4, v0", "v_mov_b32_e32 v1, s4"},
    {"scalar_operand", "gfx942", 2, "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mov_b32_e32 v2, exec_lo"},
    {"scalar_mask", "gfx942", 2, "v_cmp_eq_u32_e32 vcc, v0, v1", "v_cndmask_b32_e32 v2, v3, v4, vcc"},
    {"scalar_mask", "gfx942", 2, "v_cmp_eq_u32_e64 s[4:5], v0, v1", "v_addc_co_u32_e64 v2, vcc, v3, v4, s[4:5]"},
    {"get_after_skip", "gfx90a", 2, "s_setvskip s0, s1", "s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)"},
    {"vector_after_skip", "gfx942", 2, "s_setreg_b32 hwreg(HW_REG_MODE, 24, 6), s0", "v_mov_b32_e32 v0, v1"},
    {"vector_after_skip", "gfx90a", 2, "s_setreg_b32 hwreg(HW_REG_MODE), s0", "global_load_dword v0, v[2:3], off"},
    {"lane_data", "gfx942", 1, "v_mov_b32_e32 v1, v0", "v_readlane_b32 s0, v1, 3"},
    {"lane_mask", "gfx942", 4, "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_readfirstlane_b32 s0, v5"},
    {"dot_result", "gfx90a", 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_add_f32_e32 v5, v1, v1"},
    {"dot_result", "gfx942", 3, "v_dot2_f32_f16 v1, v2, v3, v4", "ds_write_b32 v6, v1"},
    {"dot_result", "gfx942", 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]"},
    {"dot_factor", "gfx90a", 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v5, v1, v3, v4"},
    {"dot_overwritten", "gfx942", 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_mov_b32_e32 v1, 0"},
    {"matrix_mask", "gfx90a", 4, "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mfma_f32_4x4x1f32 a[0:3], v1, v2, a[0:3]"},
    {"matrix_operand", "gfx90a", 2, "v_mov_b32_e32 v1, v0", "v_mfma_f32_4x4x1f32 a[0:3], v1, v2, a[0:3]"},
    {"matrix_operand", "gfx942", 2, "v_accvgpr_write_b32 a2, v0", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]"},
    {"sum_of_singles", "gfx90a", 8, "v_mfma_f32_16x16x4f32 v[0:3], v8, v9, v[0:3]",
     "v_mfma_f32_16x16x4f32 v[12:15], v8, v9, v[2:5]"},
    {"sum_of_singles", "gfx90a", 17, "v_mfma_f32_32x32x2f32 v[0:15], v48, v49, v[0:15]",
     "v_mfma_f64_16x16x4f64 v[24:31], v[48:49], v[50:51], v[14:21]"},
    {"sum_of_singles_xdl", "gfx942", 5, "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], 0",
     "v_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[10:11], v[2:5]"},
    {"sum_of_singles_f32", "gfx942", 8, "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]",
     "v_mfma_f32_16x16x4_f32 v[12:15], v8, v9, v[2:5]"},
    {"sum_of_two_passes", "gfx942", 2, "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], 0",
     "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[0:3]"},
    {"sum_of_doubles", "gfx90a", 9, "v_mfma_f64_16x16x4f64 v[0:7], v[40:41], v[42:43], 0",
     "v_mfma_f64_16x16x4f64 v[16:23], v[40:41], v[42:43], v[4:11]"},
    {"sum_of_narrow", "gfx942", 4, "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[40:41], v[42:43], 0",
     "v_mfma_f64_16x16x4_f64 v[16:23], v[40:41], v[42:43], v[0:7]"},
    {"sum_of_narrow_whole", "gfx90a", 4, "v_mfma_f64_4x4x4f64 v[0:1], v[40:41], v[42:43], 0",
     "v_mfma_f64_4x4x4f64 v[2:3], v[40:41], v[42:43], v[0:1]"},
    {"factor_of_singles", "gfx90a", 11, "v_mfma_f32_16x16x4f32 v[0:3], v8, v9, v[0:3]",
     "v_mfma_f32_16x16x4f32 v[12:15], v8, v1, v[12:15]"},
    {"factor_of_singles_xdl", "gfx942", 7, "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], 0",
     "v_mfma_f32_16x16x16_f16 v[16:19], v[2:3], v[10:11], 0"},
    {"factor_of_singles_f32", "gfx942", 10, "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]",
     "v_smfmac_f32_16x16x32_f16 v[12:15], v[20:21], v[24:27], v1"},
    {"factor_of_doubles", "gfx90a", 6, "v_mfma_f64_4x4x4f64 v[0:1], v[40:41], v[42:43], 0",
     "v_mfma_f64_4x4x4f64 v[2:3], v[0:1], v[42:43], v[2:3]"},
    {"result_of_singles", "gfx90a", 19, "v_mfma_f32_32x32x2f32 a[0:15], v48, v49, a[0:15]",
     "v_accvgpr_read_b32 v0, a15"},
    {"result_of_singles_xdl", "gfx942", 11, "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], 0",
     "global_store_dword v[20:21], v15, off"},
    {"result_of_singles_f32", "gfx942", 18, "v_mfma_f32_32x32x2_f32 v[0:15], v48, v49, v[0:15]", "v_mov_b32_e32 v3, 0"},
    {"result_of_doubles", "gfx90a", 11, "v_mfma_f64_16x16x4f64 v[0:7], v[40:41], v[42:43], 0", "v_mov_b32_e32 v30, v7"},
    {"result_of_doubles_stored", "gfx942", 18, "v_mfma_f64_16x16x4_f64 v[0:7], v[40:41], v[42:43], 0",
     "ds_write_b64 v20, v[6:7]"},
    {"result_of_doubles_stored", "gfx90a", 9, "v_mfma_f64_4x4x4f64 v[0:1], v[40:41], v[42:43], 0",
     "global_store_dword v[20:21], v1, off"},
    {"result_of_doubles_overwritten", "gfx942", 6, "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[40:41], v[42:43], 0",
     "global_load_dword v1, v[20:21], off"},
    {"sum_overwritten", "gfx90a", 7, "v_mfma_f32_16x16x4f32 v[16:19], v8, v9, v[0:3]", "v_mov_b32_e32 v0, 0"},
    {"sum_overwritten", "gfx942", 3, "v_mfma_f32_16x16x16_f16 v[16:19], v[8:9], v[10:11], v[0:3]",
     "ds_read_b32 v0, v30"},
    {"fma_after_doubles", "gfx942", 2, "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[40:41], v[42:43], 0",
     "v_fma_f64 v[30:31], v[32:33], v[34:35], v[36:37]"},
    {"doubles_between", "gfx90a", 1, "v_mov_b32_e32 v20, v21\nv_mfma_f64_4x4x4f64 v[0:1], v[40:41], v[42:43], 0",
     "global_store_dword v[22:23], v20, off"},
    {"scalar_clause_read", "gfx90a", 1, "s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_load_dword s4, s[2:3], 0x0"},
    {"scalar_clause_write", "gfx942", 1, "s_load_dword s4, s[0:1], 0x0", "s_load_dword s1, s[6:7], 0x0"},
    {"scalar_clause_own", "gfx90a", 1, "s_load_dword s9, s[6:7], 0x0", "s_load_dword s0, s[0:1], 0x0"},
    {"scalar_clause_lost", "gfx942", 1, "s_load_dword s0, s[0:1], 0x0", "s_load_dword s9, s[6:7], 0x0"},
    {"vector_clause_lost", "gfx942", 1, "global_load_dword v0, v[0:1], off", "global_load_dword v9, v[6:7], off"},
    {"scalar_clause_store", "gfx90a", 1, "s_load_dword s9, s[6:7], 0x0", "s_store_dword s0, s[2:3], 0x0"},
    {"vector_clause_read", "gfx90a", 1, "global_load_dword v0, v[2:3], off", "global_load_dword v5, v[0:1], off"},
    {"vector_clause_write", "gfx942", 1, "global_load_dword v9, v[2:3], off", "flat_load_dword v3, v[6:7]"},
    {"vector_clause_own", "gfx90a", 1, "global_load_dword v9, v[6:7], off", "global_load_dword v0, v[0:1], off"},
    {"release", "gfx1100", 1, "global_store_b32 v[0:1], v2, off", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"},
    {"release", "gfx1201", 1, "v_mov_b32_e32 v0, v1", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)"},
    {"vector_clause_store", "gfx90a", 1, "global_load_dword v9, v[6:7], off", "global_store_dword v[0:1], v2, off"},
};

class EachRule : public ::testing::TestWithParam<Example> {};

TEST_P(EachRule, IsBrokenUntilItsWaitStatesStandBetween) {
    const Example& example = GetParam();
    for (int states = 0; states <= example.needs + 1; ++states) {
        std::string text = fmt::format("{}\n", example.first);
        for (int rest = states; rest > 0; rest -= 16) text += fmt::format("s_nop {}\n", std::min(rest, 16) - 1);
        const Path path = path_of(example.arch, 64, text + std::string(example.second));
        const auto findings = path.hazards();
        EXPECT_EQ(findings.empty(), states >= example.needs) << path.text();
        if (states != example.needs - 1 || findings.empty()) continue;
        EXPECT_NE(findings[0].what.find(words_of(example.rule)), std::string::npos) << path.text();
        EXPECT_EQ(findings[0].fix, "s_nop 0 before this") << path.text();
        EXPECT_EQ(findings[0].kind, Kind::hazard);
    }
}
INSTANTIATE_TEST_SUITE_P(Hazards, EachRule, ::testing::ValuesIn(kExamples),
                         [](const auto& info) { return fmt::format("{}_{}", info.param.rule, info.index); });

/// Rules that other tests of this file break.
const std::set<std::string_view> kShownBelow = {"trans_use",          "matrix_factor",    "permlane_mask",
                                                "partial_forwarding", "mask_overwritten", "mask_read",
                                                "before_exec"};

TEST(Hazards, EveryRuleIsBrokenByAnExample) {
    std::set<std::string_view> shown = kShownBelow;
    for (const Example& example : kExamples) shown.insert(example.rule);
    for (const Rule& row : kRules) EXPECT_TRUE(shown.contains(row.name)) << row.name;
}

/// Expects these findings in the lines, by words of a rule or "".
void expect_found(std::string_view arch, int wave_size, std::string_view text, std::string_view rule,
                  std::string_view fix = {}) {
    const Path path = path_of(arch, wave_size, text);
    const auto findings = path.hazards();
    if (rule.empty()) {
        EXPECT_TRUE(findings.empty()) << path.text();
        return;
    }
    ASSERT_EQ(findings.size(), 1U) << path.text();
    EXPECT_NE(findings[0].what.find(words_of(rule)), std::string::npos) << path.text();
    if (!fix.empty()) EXPECT_EQ(findings[0].fix, fix);
}

std::string times(int count, std::string_view line) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}\n", line);
    return text;
}

TEST(Hazards, AFixNamesAllThatIsMissing) {
    expect_found("gfx90a", 64, "v_mfma_f32_32x32x2f32 a[0:15], v48, v49, a[0:15]\nv_accvgpr_read_b32 v0, a15",
                 "result_of_singles", "s_nop 15, s_nop 2 before this");
}

TEST(Hazards, RegistersThatDoNotOverlapBreakNothing) {
    expect_found("gfx90a", 64, "v_readfirstlane_b32 s4, v0\nglobal_load_dword v1, v2, s[6:7]", "");
    expect_found("gfx942", 64, "v_rcp_f32_e32 v1, v0\nv_mul_f32_e32 v2, v3, v3", "");
    expect_found("gfx90a", 64, "global_store_dwordx2 v[0:1], v[4:5], off\nv_mov_b32_e32 v5, 0", "");
    expect_found("gfx90a", 64, "buffer_store_dwordx4 v[4:7], v0, s[8:11], s3 offen\nv_mov_b32_e32 v5, 0", "");
    expect_found("gfx90a", 64, "s_setreg_b32 hwreg(HW_REG_MODE), s0\ns_getreg_b32 s1, hwreg(HW_REG_STATUS)", "");
    expect_found("gfx90a", 64, "v_dot2_f32_f16 v1, v2, v3, v4\nv_dot2_f32_f16 v1, v2, v3, v1", "");
}

TEST(Hazards, MasksAndCarriesOfCdna2AndOtherBitsOfTheModeNeedNoDistance) {
    expect_found("gfx90a", 64, "v_cmp_eq_u32_e32 vcc, v0, v1\nv_cndmask_b32_e32 v2, v3, v4, vcc", "");
    expect_found("gfx942", 64, "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s0\nv_mov_b32_e32 v0, v1", "");
}

TEST(Hazards, OnlyMemoryThatMayRunAgainHasClauses) {
    const Path path = path_of("gfx90a", 64, "s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_load_dword s4, s[2:3], 0x0");
    EXPECT_EQ(path.hazards(true).size(), 1U);
    EXPECT_TRUE(path.hazards(false).empty());
}

TEST(Hazards, ATranscendentalResultIsUsedAfterSixVectorInstructionsOrTwoLikeItOrAWait) {
    const std::string rcp = "v_rcp_f32_e32 v1, v0\n", use = "v_add_f32_e32 v2, v1, v1";
    for (int between = 0; between <= 7; ++between)
        expect_found("gfx1100", 32, fmt::format("{}{}{}", rcp, times(between, "v_mov_b32_e32 v9, v8"), use),
                     between < 6 ? "trans_use" : "", "s_waitcnt_depctr depctr_va_vdst(0) before this");
    expect_found("gfx1151", 32, rcp + use, "");
    expect_found("gfx1100", 32, rcp + times(1, "v_rcp_f32_e32 v9, v8") + use, "trans_use");
    expect_found("gfx1100", 32, rcp + times(2, "v_rcp_f32_e32 v9, v8") + use, "");
    expect_found("gfx1100", 32, rcp + times(9, "s_mov_b32 s0, 0") + use, "trans_use");
    expect_found("gfx1100", 32, rcp + "s_waitcnt_depctr 0xfff\n" + use, "");
    expect_found("gfx1100", 32, rcp + "s_waitcnt_depctr 0xfffe\n" + use, "trans_use");
    expect_found("gfx1100", 32, rcp + "ds_store_b32 v8, v9\n" + use, "");
    expect_found("gfx1201", 32, rcp + use, "");
}

TEST(Hazards, AMatrixProductsResultIsAFactorAfterAnotherVectorInstruction) {
    const std::string first = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]\n";
    const std::string factor = "v_wmma_f32_16x16x16_f16 v[40:47], v[16:23], v[8:15], v[40:47]";
    expect_found("gfx1100", 32, first + factor, "matrix_factor", "v_nop before this");
    expect_found("gfx1100", 32, first + "v_nop\n" + factor, "");
    expect_found("gfx1100", 32, first + "s_nop 7\n" + factor, "matrix_factor");
    expect_found("gfx1100", 32, first + first, "");
    const std::string fourth = "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]\n";
    expect_found("gfx1201", 32, fourth + "v_wmma_f32_16x16x16_f16 v[40:47], v[0:3], v[20:23], v[40:47]",
                 "matrix_factor");
    expect_found("gfx1201", 32, fourth + "v_swmmac_f32_16x16x32_f16 v[40:47], v[0:3], v[4:11], v16", "matrix_factor");
    expect_found("gfx1201", 32, fourth + "v_swmmac_f32_16x16x32_f16 v[40:47], v[0:3], v[4:11], v24", "");
}

TEST(Hazards, APermutationOfLanesFollowsACompareOfExecAfterAnotherVectorInstruction) {
    for (std::string_view arch : {"gfx1100", "gfx1201"}) {
        const std::string compare = "v_cmpx_eq_u32_e32 v0, v1\n", permute = "v_permlane16_b32 v2, v3, s0, s1";
        expect_found(arch, 32, compare + permute, "permlane_mask", "another vector instruction before this, not v_nop");
        expect_found(arch, 32, fmt::format("{}{}s_nop 7\n{}", compare, times(3, "v_nop"), permute), "permlane_mask");
        expect_found(arch, 32, fmt::format("{}v_mov_b32_e32 v5, v5\n{}", compare, permute), "");
        expect_found(arch, 32, "v_cmp_eq_u32_e32 vcc_lo, v0, v1\n" + permute, "");
    }
}

/// v0, some instructions, EXEC, some instructions, v1, some instructions, and a use of both.
std::string forwarded(int first, int second, int third) {
    constexpr std::string_view other = "v_mov_b32_e32 v9, v8";
    return "v_mov_b32_e32 v0, v8\n" + times(first, other) + "s_mov_b64 exec, -1\n" + times(second, other) +
           "v_mov_b32_e32 v1, v8\n" + times(third, other) + "v_add_f32_e32 v2, v0, v1";
}

TEST(Hazards, OperandsOfBeforeAndAfterAChangeOfExecAreFarApartInWave64) {
    for (int first = 0; first <= 3; ++first)
        for (int second = 0; second <= 3; ++second)
            for (int third : {0, 4, 5})
                expect_found("gfx1100", 64, forwarded(first, second, third),
                             first + second <= 2 && third <= 4 ? "partial_forwarding" : "",
                             "s_waitcnt_depctr depctr_va_vdst(0) before this");
    expect_found("gfx1201", 64, forwarded(0, 0, 0), "");
    expect_found("gfx1100", 64, "v_mov_b32_e32 v0, v8\nv_mov_b32_e32 v1, v8\nv_add_f32_e32 v2, v0, v1", "");
}

TEST(Hazards, AMaskIsOverwrittenAndReadAfterAWaitInWave64) {
    const std::string reads = "v_cndmask_b32_e64 v0, v1, v2, s[0:1]\n", writes = "s_mov_b32 s1, 0\n",
                      uses = "s_add_i32 s5, s1, s1";
    expect_found("gfx1100", 64, reads + writes + uses, "mask_overwritten",
                 "s_waitcnt_depctr depctr_sa_sdst(0) before this");
    expect_found("gfx1100", 64, reads + writes + "v_mov_b32_e32 v5, s1", "mask_overwritten");
    expect_found("gfx1100", 64, reads + writes + "s_waitcnt_depctr 0xfffe\n" + uses, "");
    expect_found("gfx1100", 64, reads + "v_mov_b32_e32 v5, s8\n" + writes + uses, "");
    expect_found("gfx1100", 64, reads + "s_mov_b32 s3, 0\ns_add_i32 s5, s3, s3", "");
    expect_found("gfx1100", 64, "v_mov_b32_e32 v0, s1\n" + writes + uses, "");
}

/// Hazards that paths leave pending after their last instructions.
class Joined : public ::testing::Test {
  protected:
    static constexpr uint64_t kEnd = 1000;
    /// `end`: where the text ends.
    Recent after(std::string_view text, uint64_t end = kEnd) {
        const Path path = path_of("gfx90a", 64, text);
        uint64_t bytes = 0;
        for (const Inst& inst : path.insts) bytes += inst.size;
        Recent recent(Arch::gfx90a, 64);
        path.run(recent, end - bytes);
        return recent;
    }
    const Path load_ = path_of("gfx90a", 64, "global_load_dword v1, v2, s[4:5]");
    static constexpr std::string_view kWrite = "v_readfirstlane_b32 s4, v0\n";
};

TEST_F(Joined, TheNearestOfTwoPathsCounts) {
    Recent far = after(std::string(kWrite) + "s_nop 3");
    const Recent near = after("s_mov_b32 s9, 0\n" + std::string(kWrite) + "s_nop 1");
    EXPECT_TRUE(far.join(near));
    EXPECT_FALSE(far.join(near));
    const auto findings = load_.run(far, kEnd);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].fix, "s_nop 2 before this");
}

TEST_F(Joined, WhatOnePathAloneLeftCounts) {
    Recent empty = after("s_nop 7");
    EXPECT_EQ(empty, Recent(Arch::gfx90a, 64));
    EXPECT_TRUE(empty.join(after(kWrite)));
    EXPECT_EQ(load_.run(empty, kEnd).size(), 1U);
}

TEST_F(Joined, APathThatWaitedLongerAddsNothing) {
    Recent near = after(std::string(kWrite) + "s_nop 0");
    const Recent before = near;
    EXPECT_FALSE(near.join(after(std::string(kWrite) + "s_nop 4")));
    EXPECT_EQ(near, before);
}

TEST_F(Joined, ABranchThatIsTakenIsAWaitStateMore) {
    for (const bool taken : {false, true}) {
        Recent there = after(std::string(kWrite) + "s_cbranch_scc0 8\ns_nop 1", taken ? 800 : kEnd);
        const auto findings = load_.run(there, kEnd);
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(findings[0].fix, taken ? "s_nop 0 before this" : "s_nop 1 before this");
    }
}

}  // namespace
}  // namespace strata::lint
