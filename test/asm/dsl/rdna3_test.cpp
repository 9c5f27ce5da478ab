#include "strata/asm/dsl/rdna3.h"

#include <gtest/gtest.h>

#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

using namespace rdna3;

/// Assembles the same code with the typed assembler and with LLVM.
void expect_same(const Rdna3& ours, std::string_view text) {
    Result<std::vector<uint32_t>> words = ours.words(),
                                  theirs = assemble_instructions(text, Arch::gfx1100, ours.wave_size());
    ASSERT_TRUE(words) << words.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_EQ(*words, *theirs);
}

TEST(rdna3, WritesALoopWithLoadsWaitsAndDualAdds) {
    Rdna3 a;
    Label loop = a.label("loop"), done = a.label();
    a.s_load_b128(s.range<4>(4), Rdna3::kernarg(), 0x10);
    a.s_waitcnt({.lgkmcnt = 0});
    a.v_mov_b32(v[2], 0);
    a.bind(loop);
    a.global_load_b128(v.range<4>(4), v[1], s.range<2>(4), offset(16));
    a.s_sub_i32(s[6], s[6], 1);
    a.s_cmp_lg_u32(s[6], 0);
    a.s_waitcnt({.vmcnt = 0});
    a.dual(v_dual_add_f32(v[2], v[4], v[2]), v_dual_add_f32(v[3], v[5], v[3]));
    a.s_cbranch_scc0(done);
    a.s_branch(loop);
    a.bind(done);
    a.dealloc_vgprs();
    a.s_endpgm();
    expect_same(a, R"(
        s_load_b128 s[4:7], s[0:1], 0x10
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, 0
    loop:
        global_load_b128 v[4:7], v1, s[4:5] offset:16
        s_sub_i32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_waitcnt vmcnt(0)
        v_dual_add_f32 v2, v4, v2 :: v_dual_add_f32 v3, v5, v3
        s_cbranch_scc0 done
        s_branch loop
    done:
        s_nop 0
        s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
        s_endpgm
    )");
}

TEST(rdna3, WritesTheWaveReductionWithDppAndPermlane) {
    Rdna3 a;
    a.v_add_f32(v[0], v[0], v[0], dpp(row_shr(8)));
    a.v_add_f32(v[0], v[0], v[0], dpp(row_shr(4), {.bound_ctrl = true}));
    a.v_add_f32(v[1], v[0], v[2], dpp(quad_perm(1, 0, 3, 2), {.row_mask = 0xa, .bank_mask = 0x5, .fi = true}));
    a.v_add_f32(v[1], v[0], v[2], dpp8({7, 6, 5, 4, 3, 2, 1, 0}));
    a.v_permlanex16_b32(v[1], v[0], s[2], s[3], op_sel(1));
    a.v_mov_b32(v[1], v[0], dpp(row_half_mirror));
    a.v_readlane_b32(s[4], v[0], 31);
    a.global_atomic_add_f32(v[1], v[0], s.range<2>(4));
    a.global_atomic_add_u32(v[3], v.range<2>(6), v[0], off, offset(-8));
    expect_same(a, R"(
        v_add_f32_dpp v0, v0, v0 row_shr:8 row_mask:0xf bank_mask:0xf
        v_add_f32_dpp v0, v0, v0 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:1
        v_add_f32_dpp v1, v0, v2 quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0x5 fi:1
        v_add_f32_dpp v1, v0, v2 dpp8:[7,6,5,4,3,2,1,0]
        v_permlanex16_b32 v1, v0, s2, s3 op_sel:[1,0]
        v_mov_b32_dpp v1, v0 row_half_mirror row_mask:0xf bank_mask:0xf
        v_readlane_b32 s4, v0, 31
        global_atomic_add_f32 v1, v0, s[4:5]
        global_atomic_add_u32 v3, v[6:7], v0, off offset:-8 glc
    )");
}

TEST(rdna3, ChoosesTheEncodingThatTheOperandsNeed) {
    Rdna3 a;
    a.v_add_f32(v[0], v[1], v[2]);
    a.v_add_f32(v[0], v[1], s[2]);
    a.v_add_f32(v[0], v[1], v[2], e64());
    a.v_add_f32(v[0], -v[1], abs(v[2]), clamp() | mul2());
    a.v_add_f32(v[0], -abs(v[1]), 0.5);
    a.v_add_f32(v[0], 3.25f, v[1]);
    a.v_cmp_gt_i32(vcc, s[3], v[0]);
    a.v_cmp_gt_i32(s[5], s[3], v[0]);
    a.v_cmpx_lt_u32(v[0], v[1]);
    a.v_cndmask_b32(v[0], v[1], v[2], vcc);
    a.v_cndmask_b32(v[0], 0, -1, s[7]);
    a.v_add_co_u32(v[2], vcc, s[6], v[0]);
    a.v_add_co_ci_u32(v[3], vcc, s[7], v[1], vcc);
    a.v_fma_f32(v[0], v[1], 2.0, -v[3]);
    a.v_fmac_f32(v[0], s[1], v[2]);
    a.v_fmaak_f32(v[0], v[1], v[2], 10.5);
    a.v_fmamk_f32(v[0], v[1], 10.5, v[2]);
    a.v_pk_fma_f16(v[0], v[1], v[2], v[3], op_sel(1) | neg_lo(2));
    a.v_fma_mix_f32(v[0], abs(v[1]), v[2], v[3], op_sel_hi(1));
    a.v_add_f64(v.range<2>(0), v.range<2>(2), 1.0);
    a.v_mul_f64(v.range<2>(0), v.range<2>(2), 0.15625);
    a.v_lshlrev_b64(v.range<2>(0), 2, v.range<2>(0));
    expect_same(a, R"(
        v_add_f32 v0, v1, v2
        v_add_f32 v0, v1, s2
        v_add_f32_e64 v0, v1, v2
        v_add_f32 v0, -v1, |v2| clamp mul:2
        v_add_f32 v0, -|v1|, 0.5
        v_add_f32 v0, 3.25, v1
        v_cmp_gt_i32 vcc_lo, s3, v0
        v_cmp_gt_i32 s5, s3, v0
        v_cmpx_lt_u32 v0, v1
        v_cndmask_b32 v0, v1, v2, vcc_lo
        v_cndmask_b32 v0, 0, -1, s7
        v_add_co_u32 v2, vcc_lo, s6, v0
        v_add_co_ci_u32 v3, vcc_lo, s7, v1, vcc_lo
        v_fma_f32 v0, v1, 2.0, -v3
        v_fmac_f32 v0, s1, v2
        v_fmaak_f32 v0, v1, v2, 0x41280000
        v_fmamk_f32 v0, v1, 0x41280000, v2
        v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] neg_lo:[0,1,0]
        v_fma_mix_f32 v0, |v1|, v2, v3 op_sel_hi:[1,0,0]
        v_add_f64 v[0:1], v[2:3], 1.0
        v_mul_f64 v[0:1], v[2:3], 0.15625
        v_lshlrev_b64 v[0:1], 2, v[0:1]
    )");
}

TEST(rdna3, WritesMemoryInstructionsOfEverySegment) {
    Rdna3 a;
    a.s_load_b64(s.range<2>(2), s.range<2>(0));
    a.s_load_b32(s[2], s.range<2>(0), s[9]);
    a.s_buffer_load_b32(s[2], s.range<4>(4), 8);
    a.ds_load_b128(v.range<4>(0), v[9], offset(64));
    a.ds_store_2addr_b32(v[0], v[1], v[2], offsets(1, 255));
    a.ds_add_rtn_u32(v[0], v[1], v[2]);
    a.ds_swizzle_b32(v[0], v[1], offset(0x401f));
    a.flat_load_b32(v[0], v.range<2>(2), offset(4));
    a.flat_atomic_add_u32(v.range<2>(2), v[0]);
    a.global_store_b64(v.range<2>(0), v.range<2>(2), off, glc());
    a.scratch_load_b32(v[0], off, s[3], offset(4));
    a.scratch_store_b32(v[1], v[0], off);
    a.buffer_load_b32(v[0], v[1], s.range<4>(4), 0, offen() | offset(4));
    a.buffer_store_b32(v[0], off, s.range<4>(4), s[3]);
    a.buffer_atomic_add_u32(v[0], v[1], s.range<4>(4), 0, idxen() | glc());
    a.buffer_gl0_inv();
    expect_same(a, R"(
        s_load_b64 s[2:3], s[0:1], 0x0
        s_load_b32 s2, s[0:1], s9
        s_buffer_load_b32 s2, s[4:7], 0x8
        ds_load_b128 v[0:3], v9 offset:64
        ds_store_2addr_b32 v0, v1, v2 offset0:1 offset1:255
        ds_add_rtn_u32 v0, v1, v2
        ds_swizzle_b32 v0, v1 offset:0x401f
        flat_load_b32 v0, v[2:3] offset:4
        flat_atomic_add_u32 v[2:3], v0
        global_store_b64 v[0:1], v[2:3], off glc
        scratch_load_b32 v0, off, s3 offset:4
        scratch_store_b32 v1, v0, off
        buffer_load_b32 v0, v1, s[4:7], 0 offen offset:4
        buffer_store_b32 v0, off, s[4:7], s3
        buffer_atomic_add_u32 v0, v1, s[4:7], 0 idxen glc
        buffer_gl0_inv
    )");
}

TEST(rdna3, WritesWave64CodeWithMaskPairs) {
    Rdna3 a(64);
    a.v_cmp_eq_u32(s.range<2>(2), v[0], v[1]);
    a.v_cmp_eq_u32(vcc, v[0], v[1]);
    a.v_cndmask_b32(v[0], v[1], v[2], s.range<2>(2));
    a.s_and_b64(exec, exec, s.range<2>(2));
    expect_same(a, R"(
        v_cmp_eq_u32 s[2:3], v0, v1
        v_cmp_eq_u32 vcc, v0, v1
        v_cndmask_b32 v0, v1, v2, s[2:3]
        s_and_b64 exec, exec, s[2:3]
    )");
}

TEST(rdna3, WritesMatrixInstructions) {
    Rdna3 a;
    a.v_wmma_f32_16x16x16_f16(v.range<8>(0), v.range<8>(8), v.range<8>(16), v.range<8>(0));
    a.v_wmma_f32_16x16x16_bf16(v.range<8>(0), v.range<8>(8), v.range<8>(16), 0);
    expect_same(a, R"(
        v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
        v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], 0
    )");
}

// Asks the compiler which operands do not compile.
template <class A, class... T>
concept AddsFloats = requires(A a, T... t) { a.v_add_f32(t...); };
template <class A, class... T>
concept AddsScalars = requires(A a, T... t) { a.s_add_u32(t...); };
template <class A, class... T>
concept Branches = requires(A a, T... t) { a.s_branch(t...); };
template <class A, class... T>
concept LoadsScalars = requires(A a, T... t) { a.s_load_b64(t...); };
template <class A, class... T>
concept LoadsGlobal = requires(A a, T... t) { a.global_load_b32(t...); };

static_assert(AddsFloats<Rdna3, Vgpr, Vgpr, Sgpr>);
static_assert(AddsFloats<Rdna3, Vgpr, double, Vgpr>);
static_assert(!AddsFloats<Rdna3, Sgpr, Vgpr, Vgpr>, "the destination is a vector register");
static_assert(!AddsFloats<Rdna3, Vgpr, VgprRange<2>, Vgpr>, "one register, not two");
static_assert(!AddsFloats<Rdna3, Vgpr, Vgpr, Label>);
static_assert(!AddsScalars<Rdna3, Sgpr, Vgpr, Sgpr>, "scalar code reads no vector registers");
static_assert(!AddsScalars<Rdna3, Sgpr, Sgpr, SignedRegister<1>>, "scalar code has no sign modifiers");
static_assert(!Branches<Rdna3, int>);
static_assert(!LoadsScalars<Rdna3, SgprRange<2>, Sgpr>, "a base address is a pair");
static_assert(LoadsGlobal<Rdna3, Vgpr, VgprRange<2>, Off> && LoadsGlobal<Rdna3, Vgpr, Vgpr, SgprRange<2>>);
static_assert(!LoadsGlobal<Rdna3, Vgpr, Vgpr, Off>, "without a base the address is a pair");

TEST(rdna3, WritesInterpolationsAndTheirWaits) {
    Rdna3 a;
    a.v_interp_p10_f32(v[0], v[1], v[2], v[1], wait_exp(3) | clamp());
    a.v_interp_p2_f16_f32(v[0], v[1], v[3], v[0], op_sel(9) | wait_exp(7));
    expect_same(a, R"(
        v_interp_p10_f32 v0, v1, v2, v1 clamp wait_exp:3
        v_interp_p2_f16_f32 v0, v1, v3, v0 op_sel:[1,0,0,1] wait_exp:7
    )");
}

TEST(rdna3, ErrorsPointToTheLineOfTheCall) {
    Rdna3 a;
    a.s_mov_b32(s[0], 1);
    const int line = __LINE__ + 1;
    a.s_load_b64(s.range<2>(3), s.range<2>(0));
    a.s_mov_b32(s[200], 1);  // not reported: the first error stays
    Result<std::vector<uint32_t>> words = a.words();
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().kind, ErrorKind::Assembly);
    EXPECT_EQ(words.error().line, line);
    EXPECT_TRUE(words.error().file.ends_with("rdna3_test.cpp")) << words.error().file;
    EXPECT_NE(words.error().message.find("s_load_b64"), std::string::npos) << words.error().message;
    EXPECT_EQ(a.size(), 4u);  // nothing of the failed instruction was emitted
}

}  // namespace
}  // namespace strata::isa
