#include "strata/asm/llvm/assemble.h"

#include <gtest/gtest.h>

#include <thread>

#include "strata/asm/llvm/service/llvm_api.h"

namespace strata::isa {
namespace {

constexpr std::string_view kKernel = R"(
    .text
    .globl twice
    .p2align 8
    .type twice,@function
twice:
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_mov_b32 s6, 3
.Lloop:
    s_sub_i32 s6, s6, 1
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 .Lloop
    s_waitcnt lgkmcnt(0)
    global_load_b32 v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v2, v2, v2
    global_store_b32 v1, v2, s[4:5]
    s_endpgm
.Lend:
    .size twice, .Lend-twice
    .rodata
    .p2align 6
    .amdhsa_kernel twice
        .amdhsa_group_segment_fixed_size 1024
        .amdhsa_kernarg_size 8
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 3
        .amdhsa_next_free_sgpr 7
        .amdhsa_wavefront_size32 1
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: twice
    .symbol: twice.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 7
    .vgpr_count: 3
    .max_flat_workgroup_size: 256
    .args:
      - { .name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }
...
    .end_amdgpu_metadata
)";

TEST(assemble, MakesACodeObjectWithTheKernelOfTheText) {
    Result<Bytes> image = assemble(kKernel, Arch::gfx1100);
    ASSERT_TRUE(image) << image.error().message;
    Result<CodeObject> object = CodeObject::parse(*image);
    ASSERT_TRUE(object) << object.error().message;
    ASSERT_EQ(object->kernels.size(), 1u);  // and not a second, empty metadata note
    const KernelInfo& kernel = object->kernels[0];
    EXPECT_EQ(kernel.name, "twice");
    EXPECT_EQ(kernel.lds, 1024u);
    EXPECT_EQ(kernel.vgprs, 3u);
    EXPECT_EQ(kernel.max_block, 256u);
    ASSERT_EQ(kernel.args.size(), 1u);
    EXPECT_EQ(kernel.args[0].name, "data");
    EXPECT_EQ(kernel.descriptor.kernarg_size, 8u);
}

TEST(assemble, OfTextWithoutMetadataGivesAKernelFromItsDescriptor) {
    const std::string text(kKernel.substr(0, kKernel.find(".amdgpu_metadata")));
    Result<Bytes> image = assemble(text, Arch::gfx1100);
    ASSERT_TRUE(image) << image.error().message;
    Result<CodeObject> object = CodeObject::parse(*image);
    ASSERT_TRUE(object) << object.error().message;
    ASSERT_EQ(object->kernels.size(), 1u);
    EXPECT_EQ(object->kernels[0].name, "twice");
    EXPECT_EQ(object->kernels[0].kernarg_size, 8u);
}

TEST(assemble, ReportsFileLineColumnAndTheSourceLine) {
    Result<Bytes> image = assemble("s_nop 0\ns_nop 0\n\tv_add_f32 v0, v1\ns_endpgm\n", Arch::gfx1100, "mine.s");
    ASSERT_FALSE(image);
    const Error& error = image.error();
    EXPECT_EQ(error.kind, ErrorKind::Assembly);
    EXPECT_EQ(error.file, "mine.s");
    EXPECT_EQ(error.line, 3);
    EXPECT_EQ(error.column, 2);
    EXPECT_EQ(error.message, "mine.s:3:2: error: too few operands for instruction\n\tv_add_f32 v0, v1\n\t^");
}

TEST(assemble, ReportsTheFirstOfSeveralErrorsAndLogsAll) {
    Result<Bytes> image = assemble("v_nonsense v0\ns_nop 0\nv_more_nonsense v1, v2\n", Arch::gfx1100, "two.s");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().line, 1);
    EXPECT_NE(image.error().log.find("two.s:1:1"), std::string::npos) << image.error().log;
    EXPECT_NE(image.error().log.find("two.s:3:1"), std::string::npos) << image.error().log;
}

TEST(assemble, NamesAnInstructionThatTheArchLacks) {
    EXPECT_TRUE(assemble_instructions("v_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, 1", Arch::gfx1100));
    Result<std::vector<uint32_t>> code =
        assemble_instructions("v_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, 1", Arch::gfx942);
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().line, 1);
}

TEST(assemble, OfAnUndefinedSymbolNamesIt) {
    Result<Bytes> image = assemble("s_add_u32 s0, s0, elsewhere@rel32@lo+4\n", Arch::gfx1100, "mine.s");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::Assembly);
    EXPECT_NE(image.error().message.find("'elsewhere'"), std::string::npos) << image.error().message;
}

TEST(assemble_instructions, GivesExactlyTheWordsOfTheText) {
    Result<std::vector<uint32_t>> code =
        assemble_instructions("s_mov_b32 s0, 0x12345678\nL: s_branch L\ns_endpgm", Arch::gfx1100);
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, (std::vector<uint32_t>{0xbe8000ff, 0x12345678, 0xbfa0ffff, 0xbfb00000}));
    Result<std::vector<uint32_t>> nothing = assemble_instructions("", Arch::gfx1100);
    ASSERT_TRUE(nothing);
    EXPECT_TRUE(nothing->empty());
}

TEST(assemble_instructions, FollowsTheWaveSize) {
    EXPECT_TRUE(assemble_instructions("v_cmp_eq_u32_e64 s[2:3], v0, v1", Arch::gfx1100, 64));
    EXPECT_FALSE(assemble_instructions("v_cmp_eq_u32_e64 s[2:3], v0, v1", Arch::gfx1100, 32));
    EXPECT_TRUE(assemble_instructions("v_cmp_eq_u32_e64 s[2:3], v0, v1", Arch::gfx942));
    Result<std::vector<uint32_t>> wave32 = assemble_instructions("s_nop 0", Arch::gfx942, 32);
    ASSERT_FALSE(wave32);
    EXPECT_EQ(wave32.error().kind, ErrorKind::Usage);
}

TEST(disassemble_instructions, GivesTextThatAssemblesToTheSameWords) {
    Result<std::vector<uint32_t>> code = assemble_instructions(
        "s_load_b128 s[4:7], s[0:1], 0x10\nv_add_f32_e64 v1, -v2, |v3| clamp\ns_cbranch_scc1 4\n"
        "v_add_f32_dpp v0, v1, v2 row_shr:4 row_mask:0xf bank_mask:0xf\nds_add_u32 v0, v1 offset:16\ns_endpgm",
        Arch::gfx1100);
    ASSERT_TRUE(code) << code.error().message;
    const auto* bytes = reinterpret_cast<const uint8_t*>(code->data());
    Result<std::vector<DisassembledLine>> lines = disassemble_instructions({bytes, code->size() * 4}, Arch::gfx1100);
    ASSERT_TRUE(lines) << lines.error().message;
    ASSERT_EQ(lines->size(), 6u);
    EXPECT_EQ((*lines)[0].text, "s_load_b128 s[4:7], s[0:1], 0x10");
    EXPECT_EQ((*lines)[1].offset, 8u);
    EXPECT_EQ((*lines)[1].size, 8);
    std::string text;
    for (const DisassembledLine& line : *lines) text += line.text + "\n";
    Result<std::vector<uint32_t>> again = assemble_instructions(text, Arch::gfx1100);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, *code);
}

TEST(disassemble_instructions, ShowsBytesThatAreNoInstructionAsData) {
    const std::vector<uint8_t> bytes = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0xb0, 0xbf, 0x01, 0x02};
    Result<std::vector<DisassembledLine>> lines = disassemble_instructions(bytes, Arch::gfx1100);
    ASSERT_TRUE(lines);
    ASSERT_EQ(lines->size(), 3u);
    EXPECT_EQ((*lines)[0].text, ".long 0xffffffff");
    EXPECT_EQ((*lines)[1].text, "s_endpgm");
    EXPECT_EQ((*lines)[2].text, ".byte 0x01, 0x02");
}

TEST(disassemble, HeadsEachKernelWithItsResourcesAndLabelsBranchTargets) {
    Result<Bytes> image = assemble(kKernel, Arch::gfx1100);
    ASSERT_TRUE(image) << image.error().message;
    Result<std::string> text = disassemble(*image);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_NE(text->find("kernel twice: 3 vgprs, 7 sgprs, 1024 bytes of lds, 0 bytes of scratch a lane, wave32\n"),
              std::string::npos)
        << *text;
    EXPECT_NE(text->find("L0:\n  000010  s_sub_i32 s6, s6, 1\n"), std::string::npos) << *text;
    EXPECT_NE(text->find("s_cbranch_scc1 65533  ; L0\n"), std::string::npos) << *text;
    EXPECT_EQ(text->find("s_code_end"), std::string::npos) << *text;
}

TEST(disassemble, OfADamagedObjectIsAnError) {
    Result<Bytes> image = assemble(kKernel, Arch::gfx1100);
    ASSERT_TRUE(image);
    image->resize(image->size() / 2);
    EXPECT_FALSE(disassemble(*image));
}

TEST(llvm, MissingNamesTheDebianPackage) {
    const char* const names[] = {"libLLVM-that-does-not-exist.so"};
    Result<LlvmApi> api = load_llvm(names);
    ASSERT_FALSE(api);
    EXPECT_EQ(api.error().kind, ErrorKind::Device);
    EXPECT_NE(api.error().message.find("libllvm19"), std::string::npos) << api.error().message;
}

TEST(llvm, WithoutTheFunctionsNeededIsRefusedByName) {
    const char* const names[] = {"libm.so.6"};
    Result<LlvmApi> api = load_llvm(names);
    ASSERT_FALSE(api);
    EXPECT_NE(api.error().message.find("LLVMInitialize"), std::string::npos) << api.error().message;
}

TEST(assemble, WorksOnSeveralThreadsAtOnce) {
    Result<Bytes> expected = assemble(kKernel, Arch::gfx1100);
    ASSERT_TRUE(expected);
    std::array<int, 4> good{};
    std::vector<std::thread> threads;
    for (int& count : good)
        threads.emplace_back([&] {
            for (int i = 0; i < 25; ++i) {
                Result<Bytes> image = assemble(kKernel, Arch::gfx1100);
                Result<Bytes> wrong = assemble("v_nonsense", Arch::gfx1100);
                count += image && *image == *expected && !wrong && wrong.error().line == 1;
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (int count : good) EXPECT_EQ(count, 25);
}

}  // namespace
}  // namespace strata::isa
