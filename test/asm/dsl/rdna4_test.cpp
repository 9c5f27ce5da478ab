#include "strata/asm/dsl/rdna4.h"

#include <gtest/gtest.h>

#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

using namespace rdna4;

/// Assembles the same code with the typed assembler and with LLVM.
void expect_same(const Rdna4& ours, std::string_view text) {
    Result<std::vector<uint32_t>> words = ours.words(),
                                  theirs = assemble_instructions(text, ours.arch(), ours.wave_size());
    ASSERT_TRUE(words) << words.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_EQ(*words, *theirs);
}

TEST(rdna4, WritesALoopWithSplitWaitsAndDualAdds) {
    Rdna4 a;
    Label loop = a.label("loop"), done = a.label();
    a.s_load_b128(s.range<4>(4), Rdna4::kernarg(), 0x10);
    a.s_wait_kmcnt(0);
    a.v_lshl_add_u32(v[1], Rdna4::workgroup_id(), 8, v[0]);
    a.bind(loop);
    a.global_load_b128(v.range<4>(4), v[1], s.range<2>(4), offset(16));
    a.s_sub_co_i32(s[6], s[6], 1);
    a.s_cmp_lg_u32(s[6], 0);
    a.s_wait_loadcnt(0);
    a.dual(v_dual_add_f32(v[2], v[4], v[2]), v_dual_max_num_f32(v[3], v[5], v[3]));
    a.s_cbranch_scc0(done);
    a.s_branch(loop);
    a.bind(done);
    a.s_wait_storecnt_dscnt(0x102);
    a.dealloc_vgprs();
    a.s_endpgm();
    expect_same(a, R"(
        s_load_b128 s[4:7], s[0:1], 0x10
        s_wait_kmcnt 0x0
        v_lshl_add_u32 v1, ttmp9, 8, v0
    loop:
        global_load_b128 v[4:7], v1, s[4:5] offset:16
        s_sub_co_i32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_wait_loadcnt 0x0
        v_dual_add_f32 v2, v4, v2 :: v_dual_max_num_f32 v3, v5, v3
        s_cbranch_scc0 done
        s_branch loop
    done:
        s_wait_storecnt_dscnt 0x102
        s_nop 0
        s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
        s_endpgm
    )");
}

TEST(rdna4, WritesMemoryInstructionsWithHintsAndScopes) {
    Rdna4 a;
    a.global_load_b32(v[0], v.range<2>(2), off, th(TH_LOAD_NT) | scope(SCOPE_DEV));
    a.global_store_b64(v[0], v.range<2>(2), s.range<2>(4), th(TH_STORE_HT) | offset(-8388608));
    a.global_atomic_add_u32(v[1], v[0], s.range<2>(4), scope(SCOPE_SYS));
    a.global_atomic_add_u32(v[5], v[1], v[0], s.range<2>(4));
    a.flat_load_b32(v[0], v.range<2>(2), offset(-4));
    a.scratch_load_b32(v[0], off, s[3], offset(4));
    a.buffer_load_b32(v[0], v[1], s.range<4>(4), s[8], offen() | offset(4) | scope(SCOPE_SE));
    a.buffer_store_b128(v.range<4>(0), off, s.range<4>(4), null);
    a.ds_load_b128(v.range<4>(0), v[9], offset(64));
    a.s_load_b96(s.range<3>(4), s.range<2>(0), s[9]);
    a.s_prefetch_data(s.range<2>(0), 16, s[2], 7);
    a.s_prefetch_inst_pc_rel(16, s[2], 7);
    a.s_buffer_load_i8(s[2], s.range<4>(4), 8);
    a.global_inv(scope(SCOPE_DEV));
    a.s_barrier_signal(-1);
    a.s_barrier_wait(-1);
    a.s_sendmsg_rtn_b32(s[2], 131);
    expect_same(a, R"(
        global_load_b32 v0, v[2:3], off th:TH_LOAD_NT scope:SCOPE_DEV
        global_store_b64 v0, v[2:3], s[4:5] offset:-8388608 th:TH_STORE_HT
        global_atomic_add_u32 v1, v0, s[4:5] scope:SCOPE_SYS
        global_atomic_add_u32 v5, v1, v0, s[4:5] th:TH_ATOMIC_RETURN
        flat_load_b32 v0, v[2:3] offset:-4
        scratch_load_b32 v0, off, s3 offset:4
        buffer_load_b32 v0, v1, s[4:7], s8 offen offset:4 scope:SCOPE_SE
        buffer_store_b128 v[0:3], off, s[4:7], null
        ds_load_b128 v[0:3], v9 offset:64
        s_load_b96 s[4:6], s[0:1], s9
        s_prefetch_data s[0:1], 0x10, s2, 7
        s_prefetch_inst_pc_rel 0x10, s2, 7
        s_buffer_load_i8 s2, s[4:7], 0x8
        global_inv scope:SCOPE_DEV
        s_barrier_signal -1
        s_barrier_wait -1
        s_sendmsg_rtn_b32 s2, sendmsg(MSG_RTN_GET_REALTIME)
    )");
}

TEST(rdna4, WritesMatrixAndByteInstructions) {
    Rdna4 a;
    a.v_wmma_f32_16x16x16_f16(v.range<8>(0), v.range<4>(8), v.range<4>(16), v.range<8>(0));
    a.v_wmma_i32_16x16x16_iu8(v.range<8>(0), v.range<2>(8), v.range<2>(16), 0, neg_lo(1) | clamp());
    a.v_swmmac_f32_16x16x32_f16(v.range<8>(0), v.range<4>(8), v.range<8>(16), v[30], index_key(1));
    a.v_cvt_f32_fp8(v[0], v[1], byte_sel(2));
    a.v_add_f32(v[0], v[0], v[0], dpp(row_xmask(8)));
    a.v_add_f32(v[0], -v[1], abs(v[2]), dpp8({7, 6, 5, 4, 3, 2, 1, 0}));
    expect_same(a, R"(
        v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]
        v_wmma_i32_16x16x16_iu8 v[0:7], v[8:9], v[16:17], 0 neg_lo:[1,0,0] clamp
        v_swmmac_f32_16x16x32_f16 v[0:7], v[8:11], v[16:23], v30 index_key:1
        v_cvt_f32_fp8 v0, v1 byte_sel:2
        v_add_f32 v0, v0, v0 row_xmask:8
        v_add_f32 v0, -v1, |v2| dpp8:[7,6,5,4,3,2,1,0]
    )");
}

TEST(rdna4, WritesMatrixInstructionsOfWave64) {
    Rdna4 a(64);
    a.v_wmma_f32_16x16x16_f16(v.range<4>(0), v.range<2>(8), v.range<2>(16), v.range<4>(0));
    a.v_wmma_i32_16x16x16_iu8(v.range<4>(0), v[8], v[16], 0, neg_lo(1) | clamp());
    a.v_swmmac_f32_16x16x32_f16(v.range<4>(0), v.range<2>(8), v.range<4>(16), v[30], index_key(3));
    expect_same(a, R"(
        v_wmma_f32_16x16x16_f16 v[0:3], v[8:9], v[16:17], v[0:3]
        v_wmma_i32_16x16x16_iu8 v[0:3], v8, v16, 0 neg_lo:[1,0,0] clamp
        v_swmmac_f32_16x16x32_f16 v[0:3], v[8:9], v[16:19], v30 index_key:3
    )");
}

TEST(rdna4, RefusesMatrixOperandsOfTheOtherWaveSize) {
    Rdna4 a;
    a.v_wmma_f32_16x16x16_f16(v.range<4>(0), v.range<2>(8), v.range<2>(16), v.range<4>(0));
    const auto words = a.words();
    ASSERT_FALSE(words);
    EXPECT_NE(words.error().message.find("takes 8 registers, but v[0:3] is 4"), std::string::npos)
        << words.error().message;
}

// Asks the compiler which operands do not compile.
template <class A, class... T>
concept LoadsScalars = requires(A a, T... t) { a.s_load_b96(t...); };
template <class A, class... T>
concept MultipliesScalars = requires(A a, T... t) { a.s_mul_f32(t...); };
template <class A, class... T>
concept MultipliesMatrices = requires(A a, T... t) { a.v_wmma_f32_16x16x16_f16(t...); };
template <class A>
concept HasOldName = requires(A a) { a.s_add_u32(s[0], s[1], s[2]); };

static_assert(LoadsScalars<Rdna4, SgprRange<3>, SgprRange<2>>);
static_assert(!LoadsScalars<Rdna4, SgprRange<4>, SgprRange<2>>, "three registers, not four");
static_assert(MultipliesScalars<Rdna4, Sgpr, Sgpr, double>);
static_assert(!MultipliesScalars<Rdna4, Sgpr, Vgpr, Sgpr>, "scalar code reads no vector registers");
static_assert(!MultipliesMatrices<Rdna4, VgprRange<8>, VgprRange<8>, VgprRange<8>, VgprRange<8>>,
              "RDNA4's factors are half of RDNA3's");
static_assert(!MultipliesMatrices<Rdna4, VgprRange<8>, AgprRange<4>, VgprRange<4>, VgprRange<8>>);
static_assert(!HasOldName<Rdna4>, "RDNA4 calls it s_add_co_u32");

TEST(rdna4, ErrorsPointToTheLineOfTheCall) {
    Rdna4 a;
    a.s_mov_b32(s[0], 1);
    const int line = __LINE__ + 1;
    a.global_load_b32(v[0], v[1], s.range<2>(2), offset(1 << 23));
    Result<std::vector<uint32_t>> words = a.words();
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().line, line);
    EXPECT_TRUE(words.error().file.ends_with("rdna4_test.cpp")) << words.error().file;
    EXPECT_NE(words.error().message.find("global_load_b32"), std::string::npos) << words.error().message;
}

TEST(rdna4, CountsNoScalarRegistersForWorkgroupIds) {
    Rdna4 a;
    a.v_mov_b32(v[7], Rdna4::workgroup_ids_yz());
    a.s_endpgm();
    Result<KernelSpec> kernel = a.kernel({.name = "k", .grid_dims = 3});
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->sgprs, 2u);
    EXPECT_EQ(kernel->vgprs, 8u);
}

}  // namespace
}  // namespace strata::isa
