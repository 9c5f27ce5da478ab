#include "strata/asm/dsl/assembler.h"

#include <gtest/gtest.h>

#include "strata/asm/dsl/modifiers.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

using V = DynOperand;

std::string failure(std::string_view line, Arch arch = Arch::gfx1100) {
    Assembler assembler(arch);
    assembler.emit_line(line, Location("k.py", 7, 3));
    Result<std::vector<uint32_t>> words = assembler.words();
    return words ? "" : words.error().message;
}

TEST(assembler, ResolvesBranchesForwardAndBack) {
    Assembler a(Arch::gfx1100);
    Label top = a.label("top"), end = a.label("end");
    a.bind(top);
    a.emit("s_cbranch_scc1", {end});
    a.emit("s_nop", {0});
    a.emit("s_branch", {top});
    a.bind(end);
    a.emit("s_endpgm", {});
    Result<std::vector<uint32_t>> words = a.words();
    ASSERT_TRUE(words) << words.error().message;
    EXPECT_EQ(*words, (std::vector<uint32_t>{0xbfa20002, 0xbf800000, 0xbfa0fffd, 0xbfb00000}));
}

TEST(assembler, GivesOneLabelANameAndNewOnesWithout) {
    Assembler a(Arch::gfx1100);
    EXPECT_EQ(a.label("x"), a.label("x"));
    EXPECT_FALSE(a.label() == a.label());
    Result<DynOperand> operand = a.operand("x");
    ASSERT_TRUE(operand);
    EXPECT_EQ(operand->target, a.label("x"));
}

TEST(assembler, TakesWaitsOfInterpolationsThereAlone) {
    EXPECT_EQ(failure("v_interp_p2_f32 v0, v1, v2, v3"), "");
    const std::pair<const char*, const char*> wrong[] = {
        {"v_add_f32 v0, v1, v2 wait_exp:1", "it takes no wait_exp"},
        {"global_load_b32 v0, v[2:3], off wait_exp:1", "it takes no wait_exp"},
        {"v_interp_p2_f32 v0, v1, v2, v3 offset:1", "it takes no offset"},
        {"v_interp_p2_f32 v0, v1, v2, v3 wait_exp:8", "wait_exp:8"},
        {"v_interp_p2_f32 v0, s1, v2, v3", "VGPR"},
        {"v_interp_p2_f32 v0, v1, v2, v3 op_sel:[1,0,0,0]", "op_sel"}};
    for (const auto& [line, part] : wrong)
        EXPECT_NE(failure(line).find(part), std::string::npos) << line << ": " << failure(line);
}

TEST(assembler, ReportsLabelsThatAreUnboundBoundTwiceOrTooFar) {
    Assembler unbound(Arch::gfx1100);
    unbound.emit("s_branch", {unbound.label("nowhere")}, {}, Location("k.py", 12));
    ASSERT_FALSE(unbound.words());
    EXPECT_EQ(unbound.words().error().message, "k.py:12: s_branch: label 'nowhere' is not bound");
    EXPECT_EQ(unbound.words().error().line, 12);

    Assembler twice(Arch::gfx1100);
    twice.bind(twice.label("here"));
    twice.bind(twice.label("here"), Location("k.py", 5));
    ASSERT_NE(twice.error(), nullptr);
    EXPECT_EQ(twice.error()->message, "k.py:5: label 'here' is bound twice");

    Assembler far(Arch::gfx1100);
    Label start = far.label("start");
    far.bind(start);
    for (int i = 0; i < 32768; ++i) far.emit("s_nop", {0});
    far.emit("s_branch", {start});
    ASSERT_FALSE(far.words());
    EXPECT_NE(far.words().error().message.find("-32769 words away"), std::string::npos) << far.words().error().message;
}

TEST(assembler, RefusesLabelsOfAnotherAssembler) {
    Assembler a(Arch::gfx1100), b(Arch::gfx1100);
    b.emit("s_branch", {a.label("x")});
    ASSERT_NE(b.error(), nullptr);
    EXPECT_NE(b.error()->message.find("another assembler"), std::string::npos);
}

TEST(assembler, NamesWhatIsWrongWithAnOperand) {
    EXPECT_EQ(failure("v_nonsense v0, v1"), "k.py:7:3: gfx1100 has no instruction 'v_nonsense'");
    EXPECT_EQ(failure("v_add_f32 v0, v1"), "k.py:7:3: v_add_f32: it takes 3 operands, not 2");
    EXPECT_EQ(failure("s_load_b64 s4, s[0:1], 0"),
              "k.py:7:3: s_load_b64: the destination takes 2 registers, but s4 is 1");
    EXPECT_EQ(failure("global_load_b32 v0, v1, off"),
              "k.py:7:3: global_load_b32: source 0 takes 2 registers, but v1 is 1");
    EXPECT_NE(failure("s_load_b64 s[3:4], s[0:1], 0").find("multiple of 2"), std::string::npos);
    EXPECT_NE(failure("s_add_u32 s0, v1, s2").find("must be an SGPR"), std::string::npos);
    EXPECT_NE(failure("v_mul_f64 v[0:1], 0.1, v[2:3]").find("0.1 does not fit"), std::string::npos);
    EXPECT_NE(failure("v_fma_f32 v0, 1000, 2000, v1").find("two different literals"), std::string::npos);
    EXPECT_NE(failure("v_fma_f32 v0, s1, s2, s3").find("constant bus"), std::string::npos);
    EXPECT_NE(failure("v_add_f32_e32 v0, v1, s2").find("_e64"), std::string::npos);
    EXPECT_NE(failure("v_add_f32 v0, v1, v2 row_shr:16").find("out of range"), std::string::npos);
    EXPECT_NE(failure("v_add_f32 v0, v1, v2 sideways").find("'sideways' is no modifier"), std::string::npos);
    EXPECT_NE(failure("v_add_f32 v0, v1, v300").find("v_add_f32"), std::string::npos);
    EXPECT_NE(failure("global_load_b32 v0, v[2:3], off offset:4096").find("-4096 to 4095"), std::string::npos);
    EXPECT_NE(failure("v_dual_add_f32 v0, v1, v2 :: v_dual_add_f32 v2, v3, v5").find("even"), std::string::npos);
    EXPECT_NE(failure("v_add_f32 v0, v1, loop").find("cannot be a label"), std::string::npos);
    EXPECT_NE(failure("s_nop 70000").find("16 bits"), std::string::npos);
}

TEST(assembler, KeepsTheFirstErrorAndEmitsNothingAfterIt) {
    Assembler a(Arch::gfx1100);
    a.emit("s_nop", {0});
    a.emit("v_add_f32", {V::vgpr(0), V::scalar(1), V::scalar(2)}, {.encoding = Modifiers::Encoding::e32},
           Location("k.py", 3));
    a.emit("s_nop", {0}, {}, Location("k.py", 4));
    a.emit("nothing", {}, {}, Location("k.py", 5));
    EXPECT_EQ(a.size(), 4u);
    Result<Bytes> object = a.finish({.name = "k"});
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().kind, ErrorKind::Assembly);
    EXPECT_EQ(object.error().line, 3);
    EXPECT_EQ(object.error().file, "k.py");
}

TEST(assembler, RefusesWaveSizesThatTheArchLacks) {
    EXPECT_THROW(Assembler(Arch::gfx1100, 16), Exception);
    EXPECT_THROW(Assembler(Arch::gfx942, 32), Exception);
}

TEST(assembler, CountsTheRegistersThatTheCodeNames) {
    Assembler a(Arch::gfx1100);
    a.emit("global_load_b128", {V::vgpr(4, 4), V::vgpr(8, 2), V()});
    a.emit("s_load_b256", {V::scalar(8, 8), V::scalar(0, 2), 0});
    a.emit("v_mov_b32", {V::vgpr(5), V::scalar(code::vcc_lo)});
    a.emit("s_endpgm", {});
    Result<KernelSpec> kernel = a.kernel({.name = "k"});
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->vgprs, 10u);
    EXPECT_EQ(kernel->sgprs, 16u);
    EXPECT_EQ(a.kernel({.name = "k", .vgprs = 40})->vgprs, 40u);

    Assembler small(Arch::gfx1100);
    small.emit("s_endpgm", {});
    EXPECT_EQ(small.kernel({.name = "k", .grid_dims = 2})->sgprs, 4u);  // the presets count
    EXPECT_EQ(small.kernel({.name = "k"})->vgprs, 1u);
    EXPECT_FALSE(small.kernel({.name = "k", .grid_dims = 4}));
}

TEST(assembler, LaysOutArgumentsAndLds) {
    Assembler a(Arch::gfx1100);
    EXPECT_EQ(a.add_argument({"out"}), 0u);
    EXPECT_EQ(a.add_argument({"n", "by_value", 4}), 8u);
    EXPECT_EQ(a.add_argument({"flag", "by_value", 1}), 12u);
    EXPECT_EQ(a.add_argument({"in"}), 16u);
    EXPECT_EQ(a.declare_lds(100), 0u);
    EXPECT_EQ(a.declare_lds(8), 112u);
    a.emit("s_endpgm", {});
    Result<KernelSpec> kernel = a.kernel({.name = "k",
                                          .args = {{"scale", "by_value", 4}},
                                          .hidden_args = true,
                                          .block = {8, 8, 2},
                                          .grid_dims = 3,
                                          .lds = 40});
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(kernel->lds, 160u);
    EXPECT_EQ(kernel->max_block, 128u);
    EXPECT_EQ(kernel->workitem_id_dims, 2);
    EXPECT_TRUE(kernel->workgroup_ids[2]);
    ASSERT_EQ(kernel->args.size(), 14u);
    EXPECT_EQ(kernel->args[4].offset, 24u);
    EXPECT_EQ(kernel->args[5].value_kind, "hidden_block_count_x");
    EXPECT_EQ(kernel->args[5].offset, 32u);
    EXPECT_EQ(kernel->args[8].offset, 44u);  // hidden_group_size_x, two bytes
    EXPECT_EQ(kernel->kernarg_size, 56u);
    EXPECT_EQ(kernel->args[0].address_space, "global");
}

TEST(assembler, FinishesACodeObjectThatDisassemblesToTheCode) {
    Assembler a(Arch::gfx1100);
    const uint32_t data = a.add_argument({"data"});
    a.emit_line(fmt::format("s_load_b64 s[4:5], s[0:1], {}", data));
    a.emit_line("v_lshlrev_b32 v1, 2, v0");
    a.emit_line("s_waitcnt lgkmcnt(0)");
    a.emit_line("global_store_b32 v1, v0, s[4:5]  ; a comment");
    a.emit_line("end: s_endpgm");
    Result<Bytes> image = a.finish({.name = "iota", .block = {64, 1, 1}});
    ASSERT_TRUE(image) << image.error().message;
    Result<CodeObject> object = CodeObject::parse(*image);
    ASSERT_TRUE(object) << object.error().message;
    const KernelInfo* kernel = object->find("iota");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->vgprs, 2u);
    EXPECT_EQ(kernel->sgprs, 6u);
    EXPECT_EQ(kernel->max_block, 64u);
    EXPECT_EQ(kernel->kernarg_size, 8u);
    Result<std::string> text = disassemble(*image);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_NE(text->find("global_store_b32 v1, v0, s[4:5]"), std::string::npos) << *text;
}

TEST(assembler, RefusesAtTheEndWhatTheDeviceCannotRun) {
    Assembler a(Arch::gfx1100);
    a.emit("s_endpgm", {});
    Result<Bytes> lds = a.finish({.name = "k", .lds = 70000});
    ASSERT_FALSE(lds);
    EXPECT_NE(lds.error().message.find("65536"), std::string::npos) << lds.error().message;
    EXPECT_FALSE(a.finish({.name = "k", .block = {1024, 2, 1}}));
    EXPECT_FALSE(Assembler(Arch::gfx1100).finish({.name = "empty"}));
}

TEST(dyn_operand, ParsesEverySpellingAndPrintsItAgain) {
    for (std::string_view text : {"v0", "v[2:5]", "s105", "s[4:7]", "vcc", "vcc_lo", "vcc_hi", "exec", "m0", "null",
                                  "off", "ttmp4", "ttmp[4:7]", "-v1", "|v2|", "-|v2|", "17", "-16", "0.5"}) {
        Result<DynOperand> operand = DynOperand::parse(text);
        ASSERT_TRUE(operand) << text;
        EXPECT_EQ(to_string(*operand), text);
    }
    EXPECT_EQ(DynOperand::parse("0xff")->integer, 255);
    EXPECT_EQ(DynOperand::parse("v[3]")->index, 3);
    EXPECT_TRUE(DynOperand::parse("abs(v1)")->absolute);
    for (std::string_view text : {"v256", "s106", "v[3:2]", "v", "v[a:b]", "w0", "", "0x", "1.5x", "v-1", "v[0:300]"})
        EXPECT_FALSE(DynOperand::parse(text)) << text;
}

TEST(wait_immediate, PacksTheCountersOfLlvm) {
    EXPECT_EQ(wait_immediate({.vmcnt = 0}), 0x03f7);
    EXPECT_EQ(wait_immediate({.vmcnt = 0, .lgkmcnt = 0, .expcnt = 0}), 0);
    EXPECT_EQ(wait_immediate({.lgkmcnt = 2}), 0xfc27);
    EXPECT_EQ(wait_immediate({}), 0xfff7);
}

TEST(modifiers, JoinToTheirUnion) {
    using namespace rdna3;
    const Modifiers m = dpp(row_share(3), {.bound_ctrl = true}) | clamp() | offset(8) | glc();
    EXPECT_EQ(m.dpp.ctrl, 0x153);
    EXPECT_TRUE(m.dpp.bound_ctrl);
    EXPECT_TRUE(m.clamp && m.glc);
    EXPECT_EQ(m.offset, 8);
}

TEST(generated_methods, AreThoseOfTheInstructionRows) {
    const std::string command = "python3 " STRATA_SOURCE_DIR "/asm/isa/generate/generate.py methods --verify";
    EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace strata::isa
