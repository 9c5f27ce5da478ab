#include <gtest/gtest.h>

#include "../one_wave.h"

namespace strata::emu::harness {
namespace {

class Gfx9Scalars : public OneWave, public ::testing::WithParamInterface<isa::Arch> {
  protected:
    Gfx9Scalars() : OneWave(GetParam(), 64) {}
};

TEST_P(Gfx9Scalars, NamesOfTheirOwnMeanTheSameOperations) {
    wave.sgpr[2] = 0xf0f0;
    wave.sgpr[3] = 0xff;
    wave.sgpr[4] = 0x7fffffff;
    run(R"(
        s_andn2_b32 s10, s2, s3
        s_orn2_b32 s11, s2, s3
        s_ff0_i32_b32 s12, s3
        s_ff1_i32_b32 s13, s2
        s_flbit_i32_b32 s14, s3
        s_flbit_i32 s15, s4
        s_mov_b64 s[16:17], -1
        s_ff0_i32_b64 s18, s[16:17]
        s_mov_b64 s[20:21], exec
        s_mov_b64 s[22:23], 0xff
        s_andn1_saveexec_b64 s[24:25], s[22:23]
        s_mov_b64 s[26:27], exec
        s_mov_b64 exec, s[20:21]
    )");
    EXPECT_EQ(wave.sgpr[10], 0xf000u);
    EXPECT_EQ(wave.sgpr[11], 0xf0f0u | ~0xffu);
    EXPECT_EQ(wave.sgpr[12], 8u);
    EXPECT_EQ(wave.sgpr[13], 4u);
    EXPECT_EQ(wave.sgpr[14], 24u);
    EXPECT_EQ(wave.sgpr[15], 1u);
    EXPECT_EQ(wave.sgpr[18], ~0u);
    EXPECT_EQ(pair(24), ~0ull);
    EXPECT_EQ(pair(26), ~0xffull);
}

TEST_P(Gfx9Scalars, ZeroFlagsAreSources) {
    run("s_mov_b64 vcc, 0\ns_mov_b32 s4, src_vccz\ns_mov_b32 s5, src_execz\ns_mov_b64 vcc, 1\ns_add_u32 s6, src_vccz, "
        "3");
    EXPECT_EQ(wave.sgpr[4], 1u);
    EXPECT_EQ(wave.sgpr[5], 0u);
    EXPECT_EQ(wave.sgpr[6], 3u);
}

TEST_P(Gfx9Scalars, RegisterIndexingAddsM0ToTheSelectedOperands) {
    for (int r = 0; r < 8; ++r) set_row(r, [&](int lane) { return static_cast<uint32_t>(r * 100 + lane); });
    wave.sgpr[2] = 3;
    wave.m0 = 0xabcd0f00;
    run(R"(
        s_set_gpr_idx_on s2, gpr_idx(SRC0)
        v_mov_b32 v20, v1
        v_add_u32 v21, v1, v1
        s_set_gpr_idx_idx 2
        s_set_gpr_idx_mode gpr_idx(DST)
        v_mov_b32 v22, v0
        s_set_gpr_idx_mode gpr_idx(SRC1)
        v_add_u32 v23, v1, v1
        s_mov_b32 s5, m0
        s_set_gpr_idx_off
        v_mov_b32 v26, v1
        s_set_gpr_idx_on s2, gpr_idx(SRC0)
        v_lshlrev_b64 v[28:29], v0, v[2:3]
        s_set_gpr_idx_off
    )");
    for (int lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(v(20, lane), 400u + static_cast<uint32_t>(lane));
        ASSERT_EQ(v(21, lane), 500u + 2 * static_cast<uint32_t>(lane));
        ASSERT_EQ(v(22, lane), 0u);
        ASSERT_EQ(v(24, lane), static_cast<uint32_t>(lane));
        ASSERT_EQ(v(23, lane), 400u + 2 * static_cast<uint32_t>(lane));
        ASSERT_EQ(v(26, lane), 100u + static_cast<uint32_t>(lane));
        const uint64_t value = (200u + static_cast<uint32_t>(lane)) | uint64_t{300u + static_cast<uint32_t>(lane)}
                                                                          << 32;
        const uint64_t shifted = value << ((300u + static_cast<uint32_t>(lane)) & 63);
        ASSERT_EQ(v(28, lane) | uint64_t{v(29, lane)} << 32, shifted);
    }
    EXPECT_EQ(wave.sgpr[5], 0xabcd2f02u);
    wave.sgpr[2] = 250;  // v256 would be a0
    auto past = attempt("s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32 v20, v6\ns_set_gpr_idx_off");
    ASSERT_FALSE(past);
    EXPECT_NE(past.error().message.find("M0 leads past"), std::string::npos) << past.error().message;
}

TEST_P(Gfx9Scalars, RegisterIndexingMovesWhereALaneIsWritten) {
    wave.sgpr[2] = 3;
    wave.sgpr[4] = 77;
    run(R"(
        s_set_gpr_idx_on s2, gpr_idx(DST)
        v_writelane_b32 v10, s4, 5
        s_set_gpr_idx_mode gpr_idx(SRC0)
        v_writelane_b32 v10, s4, 6
        s_set_gpr_idx_off
    )");
    EXPECT_EQ(v(13, 5), 77u);
    EXPECT_EQ(v(10, 5), 0u);
    EXPECT_EQ(v(10, 6), 77u);
    EXPECT_EQ(v(13, 6), 0u);
    auto read = attempt("s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_readlane_b32 s5, v1, 3\ns_set_gpr_idx_off");
    EXPECT_FALSE(read);
}

TEST_P(Gfx9Scalars, VskipLeavesVectorInstructionsOut) {
    wave.sgpr[2] = 4;
    run("v_mov_b32 v1, 1\ns_setvskip s2, 2\nv_mov_b32 v1, 2\ns_mov_b32 s3, 7\ns_setvskip 0, 0\nv_mov_b32 v2, 3");
    EXPECT_EQ(v(1, 5), 1u);
    EXPECT_EQ(v(2, 5), 3u);
    EXPECT_EQ(wave.sgpr[3], 7u);
}

TEST_P(Gfx9Scalars, VectorHintsChangeNothingWhileOthersAreSkippedOrIndexed) {
    for (const char* hint : {"v_nop", GetParam() == isa::Arch::gfx942 ? "buffer_inv sc1" : "buffer_wbinvl1"})
        for (const char* mode : {"s_setvskip s2, 2", "s_set_gpr_idx_on s2, gpr_idx(SRC0)"}) {
            SCOPED_TRACE(fmt::format("{} after {}", hint, mode));
            const bool skips = std::string_view(mode).starts_with("s_setvskip");
            const std::string text = fmt::format(
                "s_mov_b32 s3, 0\nv_mov_b32 v1, 1\nv_mov_b32 v5, 5\n{1}\n{0}\ns_mov_b32 s3, 7\n"
                "{0}\n{0}\nv_mov_b32 v1, v1\n{2}\n{0}",
                hint, mode, skips ? "s_setvskip 0, 0" : "s_set_gpr_idx_off");
            wave.sgpr[2] = 4;
            run(text);
            EXPECT_EQ(wave.sgpr[3], 7u);
            EXPECT_EQ(v(1, 5), skips ? 1u : 5u);
            // the hint is the last one: what comes after it is not taken for it
            run(fmt::format("s_branch last\nback: s_setvskip 0, 0\ns_endpgm\nlast: {1}\n{0}\ns_branch back", hint,
                            mode));
        }
}

TEST_P(Gfx9Scalars, ForksRunBothPathsAndJoin) {
    // Lanes 0 to 9 take the branch; the smaller set runs first.
    wave.sgpr[20] = 0x3ff;
    wave.sgpr[21] = 0;
    run(R"(
        s_mov_b32 s30, 0
        s_cbranch_i_fork s[20:21], there
        v_mov_b32 v1, 1
        s_lshl_b32 s30, s30, 4
        s_or_b32 s30, s30, 1
        s_branch joined
    there:
        v_mov_b32 v1, 2
        s_lshl_b32 s30, s30, 4
        s_or_b32 s30, s30, 2
    joined:
        s_cbranch_join s31
        s_mov_b32 s32, 5
    )");
    for (int lane = 0; lane < 64; ++lane) ASSERT_EQ(v(1, lane), lane < 10 ? 2u : 1u) << lane;
    EXPECT_EQ(wave.sgpr[30], 0x21u);
    EXPECT_EQ(wave.sgpr[32], 5u);
    EXPECT_EQ(wave.exec, ~0x3ffull);  // of the path that ran last: a join does not bring the others back
}

TEST_P(Gfx9Scalars, ScalarStoresAndAtomicsReachMemory) {
    std::vector<uint8_t> bytes(256);
    wave.memory = {{0x10000, bytes}};
    auto word = [&](size_t at) {
        uint32_t value;
        memcpy(&value, bytes.data() + at, 4);
        return value;
    };
    wave.sgpr[2] = 0x10000;
    wave.sgpr[3] = 0;
    wave.sgpr[4] = 5;
    wave.sgpr[5] = 9;
    run(R"(
        s_store_dword s4, s[2:3], 0x10
        s_store_dwordx2 s[4:5], s[2:3], 0x20
        s_mov_b32 s8, 3
        s_atomic_add s8, s[2:3], 0x10 glc
        s_mov_b32 s9, 100
        s_atomic_umax s9, s[2:3], 0x20
        s_mov_b64 s[10:11], 8
        s_atomic_sub_x2 s[10:11], s[2:3], 0x40 glc
        s_mov_b32 s12, 77
        s_mov_b32 s13, 9
        s_atomic_cmpswap s[12:13], s[2:3], 0x24 glc
        s_load_dword s14, s[2:3], 0x24
        s_dcache_wb
    )");
    EXPECT_EQ(word(0x10), 8u);
    EXPECT_EQ(wave.sgpr[8], 5u);
    EXPECT_EQ(word(0x20), 100u);
    EXPECT_EQ(word(0x24), 77u);
    EXPECT_EQ(wave.sgpr[12], 9u);
    EXPECT_EQ(wave.sgpr[14], 77u);
    EXPECT_EQ(word(0x40), 0xfffffff8u);
    EXPECT_EQ(word(0x44), 0xffffffffu);
    EXPECT_EQ(wave.sgpr[10], 0u);
    auto past = attempt("s_store_dword s4, s[2:3], 0x100");
    ASSERT_FALSE(past);
    EXPECT_EQ(past.error().kind, ErrorKind::MemoryFault);
}

TEST_P(Gfx9Scalars, HardwareRegistersAndClocks) {
    wave.mode = 0xf0;
    wave.scc = true;
    run(R"(
        s_getreg_b32 s4, hwreg(HW_REG_MODE)
        s_getreg_b32 s5, hwreg(HW_REG_STATUS, 0, 1)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5
        s_memtime s[6:7]
        s_nop 0
        s_nop 0
        s_memtime s[8:9]
        s_getreg_b32 s10, hwreg(HW_REG_SH_MEM_BASES)
        s_mov_b64 s[12:13], src_shared_base
        s_mov_b64 s[14:15], src_private_base
    )");
    EXPECT_EQ(wave.sgpr[4], 0xf0u);
    EXPECT_EQ(wave.sgpr[5], 1u);
    EXPECT_EQ(wave.mode, 0xf5u);
    EXPECT_EQ(pair(8) - pair(6), 3u);
    // SH_MEM_BASES: bits 63:48 of the private aperture below those of the shared one.
    EXPECT_EQ(wave.sgpr[10] >> 16, wave.sgpr[13] >> 16);
    EXPECT_EQ(wave.sgpr[10] & 0xffff, wave.sgpr[15] >> 16);
    EXPECT_EQ(wave.sgpr[12], 0u);
}

TEST_P(Gfx9Scalars, ACallThroughARegisterReturns) {
    run(R"(
        s_getpc_b64 s[4:5]
    base:
        s_add_u32 s4, s4, function-base
        s_addc_u32 s5, s5, 0
        s_swappc_b64 s[30:31], s[4:5]
        s_mov_b32 s9, 2
        s_endpgm
    function:
        s_mov_b32 s8, 1
        s_setpc_b64 s[30:31]
    )");
    EXPECT_EQ(wave.sgpr[8], 1u);
    EXPECT_EQ(wave.sgpr[9], 2u);
}

INSTANTIATE_TEST_SUITE_P(Archs, Gfx9Scalars, ::testing::Values(isa::Arch::gfx942, isa::Arch::gfx90a));

}  // namespace
}  // namespace strata::emu::harness
