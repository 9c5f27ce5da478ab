#include "strata/asm/dsl/cdna3.h"

#include <gtest/gtest.h>

#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

using namespace cdna3;

/// Assembles the same code with the typed assembler and with LLVM.
void expect_same(const Cdna3& ours, std::string_view text) {
    Result<std::vector<uint32_t>> words = ours.words(),
                                  theirs = assemble_instructions(text, ours.arch(), ours.wave_size());
    ASSERT_TRUE(words) << words.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_EQ(*words, *theirs);
}

TEST(cdna3, WritesALoopWithLabelsWaitsAndMatrixProducts) {
    Cdna3 a;
    Label loop = a.label("loop"), done = a.label();
    a.s_load_dwordx4(s.range<4>(4), Cdna3::kernarg(), 0x10);
    a.s_waitcnt({.lgkmcnt = 0});
    a.bind(loop);
    a.global_load_dwordx4(v.range<4>(4), v[1], s.range<2>(4), offset(16) | sc1() | nt());
    a.s_sub_i32(s[6], s[6], 1);
    a.s_cmp_lg_u32(s[6], 0);
    a.s_waitcnt({.vmcnt = 17, .expcnt = 3});
    a.v_mfma_f32_32x32x8_f16(acc.range<16>(0), v.range<2>(4), acc.range<2>(30), acc.range<16>(0));
    a.v_mfma_f32_4x4x4_16b_f16(v.range<4>(0), v.range<2>(4), v.range<2>(6), 1.0, cbsz(2) | abid(3) | blgp(5));
    a.v_mfma_f64_16x16x4_f64(acc.range<8>(0), v.range<2>(4), v.range<2>(6), 0, neg_lo(3));
    a.v_smfmac_f32_16x16x32_f16(acc.range<4>(0), v.range<2>(4), acc.range<4>(8), v[9], cbsz(1) | abid(1));
    a.s_cbranch_scc0(done);
    a.s_branch(loop);
    a.bind(done);
    a.v_accvgpr_read_b32(v[8], acc[3]);
    a.v_accvgpr_write_b32(acc[3], 0);
    a.s_endpgm();
    expect_same(a, R"(
        s_load_dwordx4 s[4:7], s[0:1], 0x10
        s_waitcnt lgkmcnt(0)
    loop:
        global_load_dwordx4 v[4:7], v1, s[4:5] offset:16 nt sc1
        s_sub_i32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_waitcnt vmcnt(17) expcnt(3)
        v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], a[30:31], a[0:15]
        v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 1.0 cbsz:2 abid:3 blgp:5
        v_mfma_f64_16x16x4_f64 a[0:7], v[4:5], v[6:7], 0 neg:[1,1,0]
        v_smfmac_f32_16x16x32_f16 a[0:3], v[4:5], a[8:11], v9 cbsz:1 abid:1
        s_cbranch_scc0 done
        s_branch loop
    done:
        v_accvgpr_read_b32 v8, a3
        v_accvgpr_write_b32 a3, 0
        s_endpgm
    )");
}

TEST(cdna3, WritesMemoryInstructionsOfEverySegment) {
    Cdna3 a;
    a.s_load_dwordx2(s.range<2>(2), s.range<2>(0), s[9], offset(0x10));
    a.s_store_dword(s[2], s.range<2>(0), 4, glc());
    a.s_atomic_add(s[2], s.range<2>(0), 4, glc());
    a.s_buffer_load_dword(s[2], s.range<4>(4), 8);
    a.s_memtime(s.range<2>(2));
    a.ds_read_b128(acc.range<4>(0), v[9], offset(64));
    a.ds_write2_b32(v[0], v[1], v[2], offsets(1, 255));
    a.ds_add_rtn_u32(acc[0], v[1], acc[2]);
    a.flat_load_dword(v[0], v.range<2>(2), offset(4) | sc0());
    a.flat_atomic_add(v.range<2>(2), v[0]);
    a.global_store_dwordx2(v.range<2>(0), acc.range<2>(2), off, sc0() | sc1());
    a.global_atomic_add_f32(v[5], v[1], v[0], s.range<2>(4));
    a.global_load_lds_dword(v[1], s.range<2>(4), offset(4));
    a.scratch_load_dword(v[0], off, s[3], offset(4));
    a.scratch_store_dword(v[1], v[0], off);
    a.buffer_load_dword(v[0], v[1], s.range<4>(4), 0, offen() | offset(4));
    a.buffer_load_dword(v[1], s.range<4>(4), s[3], offen() | lds());
    a.buffer_store_dword(acc[0], off, s.range<4>(4), s[3], nt());
    a.buffer_atomic_add(v[0], v[1], s.range<4>(4), 0, idxen() | sc0());
    a.buffer_inv(sc1());
    expect_same(a, R"(
        s_load_dwordx2 s[2:3], s[0:1], s9 offset:0x10
        s_store_dword s2, s[0:1], 0x4 glc
        s_atomic_add s2, s[0:1], 0x4 glc
        s_buffer_load_dword s2, s[4:7], 0x8
        s_memtime s[2:3]
        ds_read_b128 a[0:3], v9 offset:64
        ds_write2_b32 v0, v1, v2 offset0:1 offset1:255
        ds_add_rtn_u32 a0, v1, a2
        flat_load_dword v0, v[2:3] offset:4 sc0
        flat_atomic_add v[2:3], v0
        global_store_dwordx2 v[0:1], a[2:3], off sc0 sc1
        global_atomic_add_f32 v5, v1, v0, s[4:5] sc0
        global_load_lds_dword v1, s[4:5] offset:4
        scratch_load_dword v0, off, s3 offset:4
        scratch_store_dword v1, v0, off
        buffer_load_dword v0, v1, s[4:7], 0 offen offset:4
        buffer_load_dword v1, s[4:7], s3 offen lds
        buffer_store_dword a0, off, s[4:7], s3 nt
        buffer_atomic_add v0, v1, s[4:7], 0 idxen sc0
        buffer_inv sc1
    )");
}

TEST(cdna3, WritesSdwaDppAndPackedFloats) {
    Cdna3 a;
    a.v_add_u32(v[1], v[2], sext(v[3]), sdwa({.src0_sel = BYTE_0, .src1_sel = WORD_1}));
    a.v_add_f32(v[4], -v[2], s[3], sdwa({.dst_sel = WORD_1, .dst_unused = UNUSED_PAD, .src0_sel = WORD_1}));
    a.v_cmp_eq_u32(s.range<2>(8), v[0], v[1], sdwa({.src0_sel = BYTE_3}));
    a.v_add_f32(v[0], v[1], v[0], dpp(row_bcast15, {.row_mask = 0xa}));
    a.v_mov_b32(v[0], v[1], dpp(wave_shr));
    a.v_add_f32(v[0], v[1], v[0], dpp(row_shr(1), {.bound_ctrl = true}));
    a.v_mov_b64(v.range<2>(0), v.range<2>(2), dpp(row_newbcast(3)));
    a.v_pk_fma_f32(v.range<2>(0), v.range<2>(2), s.range<2>(4), v.range<2>(6), op_sel_hi(5) | neg_lo(1));
    a.v_cmpx_lt_f32(vcc, v[0], v[1]);
    a.v_add_co_u32(v[0], vcc, s[4], v[0]);
    a.v_addc_co_u32(v[1], vcc, v[1], v[2], vcc);
    a.v_cndmask_b32(v[0], 0, -1, s.range<2>(6));
    a.v_fmamk_f32(v[0], v[1], 0x41280000, v[2]);
    a.s_set_gpr_idx_on(s[0], 9);
    a.s_add_u32(flat_scratch_lo, s[2], s[8]);
    a.s_and_b64(exec, exec, s.range<2>(2));
    expect_same(a, R"(
        v_add_u32_sdwa v1, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:WORD_1
        v_add_f32_sdwa v4, -v2, s3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD
        v_cmp_eq_u32_sdwa s[8:9], v0, v1 src0_sel:BYTE_3 src1_sel:DWORD
        v_add_f32_dpp v0, v1, v0 row_bcast:15 row_mask:0xa bank_mask:0xf
        v_mov_b32_dpp v0, v1 wave_shr:1 row_mask:0xf bank_mask:0xf
        v_add_f32_dpp v0, v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
        v_mov_b64_dpp v[0:1], v[2:3] row_newbcast:3 row_mask:0xf bank_mask:0xf
        v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel_hi:[1,0,1] neg_lo:[1,0,0]
        v_cmpx_lt_f32 vcc, v0, v1
        v_add_co_u32 v0, vcc, s4, v0
        v_addc_co_u32 v1, vcc, v1, v2, vcc
        v_cndmask_b32 v0, 0, -1, s[6:7]
        v_fmamk_f32 v0, v1, 0x41280000, v2
        s_set_gpr_idx_on s0, gpr_idx(SRC0,DST)
        s_add_u32 flat_scratch_lo, s2, s8
        s_and_b64 exec, exec, s[2:3]
    )");
}

// Asks the compiler which operands do not compile.
template <class A, class... T>
concept MultipliesMatrices = requires(A a, T... t) { a.v_mfma_f32_32x32x8_f16(t...); };
template <class A, class... T>
concept AddsFloats = requires(A a, T... t) { a.v_add_f32(t...); };
template <class A, class... T>
concept ReadsAccumulator = requires(A a, T... t) { a.v_accvgpr_read_b32(t...); };
template <class A, class... T>
concept ExchangesInLds = requires(A a, T... t) { a.ds_add_rtn_u32(t...); };
template <class A, class... T>
concept LoadsGlobal = requires(A a, T... t) { a.global_load_dword(t...); };

static_assert(MultipliesMatrices<Cdna3, AgprRange<16>, VgprRange<2>, AgprRange<2>, AgprRange<16>>);
static_assert(MultipliesMatrices<Cdna3, VgprRange<16>, VgprRange<2>, VgprRange<2>, int>);
static_assert(!MultipliesMatrices<Cdna3, AgprRange<16>, VgprRange<2>, VgprRange<2>, VgprRange<16>>,
              "both accumulators are in one file");
static_assert(!MultipliesMatrices<Cdna3, AgprRange<4>, VgprRange<2>, VgprRange<2>, int>, "sixteen registers");
static_assert(!MultipliesMatrices<Cdna3, AgprRange<16>, SgprRange<2>, VgprRange<2>, int>);
static_assert(AddsFloats<Cdna3, Vgpr, double, Vgpr> && AddsFloats<Cdna3, Vgpr, Vgpr, Sgpr>);
static_assert(!AddsFloats<Cdna3, Vgpr, Agpr, Vgpr>, "vector arithmetic reads no accumulation registers");
static_assert(!AddsFloats<Cdna3, Agpr, Vgpr, Vgpr>);
static_assert(ReadsAccumulator<Cdna3, Vgpr, Agpr> && !ReadsAccumulator<Cdna3, Vgpr, Vgpr>);
static_assert(ExchangesInLds<Cdna3, Agpr, Vgpr, Agpr> && !ExchangesInLds<Cdna3, Agpr, Vgpr, Vgpr>);
static_assert(LoadsGlobal<Cdna3, Agpr, VgprRange<2>, Off> && !LoadsGlobal<Cdna3, Sgpr, VgprRange<2>, Off>);

TEST(cdna3, ErrorsPointToTheLineOfTheCallAndNameTheOperand) {
    Cdna3 a;
    a.s_mov_b32(s[0], 1);
    const int line = __LINE__ + 1;
    a.v_mfma_f32_32x32x8_f16(acc.range<16>(1), v.range<2>(4), v.range<2>(6), 0);
    Result<std::vector<uint32_t>> words = a.words();
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().line, line);
    EXPECT_TRUE(words.error().file.ends_with("cdna3_test.cpp")) << words.error().file;
    EXPECT_NE(words.error().message.find("v_mfma_f32_32x32x8_f16: dst must start at an even register"),
              std::string::npos)
        << words.error().message;
}

TEST(cdna3, NamesWhatIsWrongWithALine) {
    auto failure = [](std::string_view line, Arch arch = Arch::gfx942) {
        Assembler assembler(arch);
        assembler.emit_line(line, Location("k.py", 7));
        Result<std::vector<uint32_t>> words = assembler.words();
        return words ? "" : words.error().message;
    };
    EXPECT_EQ(failure("v_add_f32 v0, v1, a2"), "k.py:7: v_add_f32: src1 must be a register or an inline constant");
    EXPECT_EQ(failure("s_mov_b32 s102, 0"),
              "k.py:7: s_mov_b32: the destination: s102 is past s101, the last one of gfx942");
    EXPECT_EQ(failure("v_add_f32 v0, v1, a2", Arch::gfx1100), "k.py:7: v_add_f32: source 1: gfx1100 has no a2");
    EXPECT_EQ(failure("s_mov_b64 flat_scratch, s[2:3]", Arch::gfx1100),
              "k.py:7: s_mov_b64: the destination: gfx1100 has no flat_scratch");
    EXPECT_NE(failure("v_add_u32 v0, sext(v1), v2").find("_sdwa"), std::string::npos);
    EXPECT_NE(failure("v_add_f32 v0, 1.5, v2 row_shr:1").find("v_add_f32"), std::string::npos);
    EXPECT_NE(failure("v_fma_f32 v0, 1.5, v2, v3").find("v_fma_f32"), std::string::npos);
    EXPECT_NE(failure("global_load_b32 v0, v[2:3], off").find("no instruction 'global_load_b32'"), std::string::npos);
}

TEST(cdna3, CountsBothKindsOfVectorRegisters) {
    Cdna3 a;
    a.v_mfma_f32_32x32x8_f16(acc.range<16>(2), v.range<2>(4), v.range<2>(6), 0);
    a.v_accvgpr_read_b32(v[8], acc[17]);
    a.s_endpgm();
    const KernelOptions options{.name = "k", .block = {64, 1, 1}};
    Result<KernelSpec> kernel = a.kernel(options);
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->vgprs, 9u);
    EXPECT_EQ(kernel->agprs, 18u);
    EXPECT_EQ(kernel->accum_offset(), 12u);
    Result<Bytes> image = a.finish(options);
    ASSERT_TRUE(image) << image.error().message;
    const CodeObject object = CodeObject::parse(*image).value();
    EXPECT_EQ(object.kernels.at(0).agprs, 18u);
    EXPECT_EQ(object.kernels.at(0).vgprs, 30u);
    EXPECT_EQ(object.kernels.at(0).descriptor.accum_offset(), 12);
    EXPECT_EQ(object.kernels.at(0).descriptor.vgprs(info(Arch::gfx942)), 32);
}

}  // namespace
}  // namespace strata::isa
