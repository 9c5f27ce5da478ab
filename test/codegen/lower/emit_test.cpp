#include <gtest/gtest.h>

#include "function.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/object/line_table.h"

namespace strata::codegen {
namespace {

/// Counts from n down to 0 in a loop and stores what it counted, with what differs between families.
std::string counting(isa::Arch arch) {
    const isa::Family family = isa::info(arch).family;
    const std::string_view wait = family == isa::Family::rdna4 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)";
    const bool cdna = isa::is_cdna(family);
    return fmt::format(
        "s_load_{} s[4:5], s[0:1], {}\ns_mov_b32 s6, 5\nv_mov_b32 v1, 0\nv_lshlrev_b32 v2, 2, v0\nloop_r0:\n"
        "v_add_f32 v1, 1.0, v1\ns_add_{} s6, s6, -1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 loop_r0\n{}\n"
        "global_store_{} v2, v1, s[4:5]\ns_endpgm",
        cdna ? "dwordx2" : "b64", cdna ? "0x0" : "null", family == isa::Family::rdna4 ? "co_u32" : "u32", wait,
        cdna ? "dword" : "b32");
}

class EmitTest : public testing::TestWithParam<isa::Arch> {};

TEST_P(EmitTest, ObjectsRunAndSayWhatTheyTake) {
    GraphScope scope;
    Function function(GetParam(), counting(GetParam()), copying());
    auto lowered = emit(function.code);
    ASSERT_TRUE(lowered) << lowered.error().message;
    emu::Gpu gpu(GetParam());
    auto module = gpu.load(lowered->object(GetParam()).value()).value();
    const isa::KernelInfo& kernel = module->object().kernels.at(0);
    ASSERT_EQ(kernel.args.size(), 2u);
    EXPECT_EQ(kernel.args[0].name, "out0");
    EXPECT_EQ(kernel.args[1].name, "in1");
    EXPECT_EQ(kernel.max_block, 64u);
    EXPECT_EQ(kernel.descriptor.user_sgprs(), GetParam() == isa::Arch::gfx1100 ? 15 : 2);
    std::array<uint64_t, 2> arguments{gpu.allocate(256).value(), gpu.allocate(256).value()};
    std::vector<lint::Finding> found;
    auto ran = gpu.launch(*module, "k", {.block = {64, 1, 1}, .check = emu::Check::report, .findings = &found},
                          std::span(reinterpret_cast<const uint8_t*>(arguments.data()), 16));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(found.empty());
    std::array<float, 64> values{};
    ASSERT_TRUE(gpu.read(values.data(), arguments[0], 256));
    for (float value : values) EXPECT_EQ(value, 5.0f);
}

TEST_P(EmitTest, TheTextAssemblesToTheSameWords) {
    GraphScope scope;
    Function function(GetParam(), counting(GetParam()), copying());
    for (size_t i = 0; Block & block : function.code.blocks)
        for (Instruction& instruction : block.code) instruction.origin = static_cast<uint32_t>(i++ % 7);
    auto lowered = emit(function.code);
    ASSERT_TRUE(lowered) << lowered.error().message;
    EXPECT_NE(lowered->assembly.find("loop_r0:\n"), std::string::npos) << lowered->assembly;
    EXPECT_NE(lowered->assembly.find("; val0 = load float32 in1[tx]\n"), std::string::npos) << lowered->assembly;
    EXPECT_NE(lowered->assembly.find("s_cbranch_scc1 loop_r0\n"), std::string::npos) << lowered->assembly;
    expect_text_of_object(GetParam(), *lowered);
}

TEST_P(EmitTest, LinesNameTheOperationThatCodeIsFor) {
    GraphScope scope;
    Function function(GetParam(), counting(GetParam()), copying());
    for (Block& block : function.code.blocks)
        for (Instruction& instruction : block.code)
            instruction.origin = instruction.inst.row->flags & isa::kStore ? 6 : 4;
    auto lowered = emit(function.code);
    ASSERT_TRUE(lowered) << lowered.error().message;
    const isa::CodeObject object = isa::CodeObject::parse(lowered->object(GetParam()).value()).value();
    auto lines = isa::LineTable::read(object).value();
    const isa::SourceLine first = lines.find(object.kernels[0].entry_address);
    EXPECT_EQ(first.file, "k.uops");
    EXPECT_EQ(first.line, 5u);
    EXPECT_EQ(listing(function.program)[first.line - 1], "val0 = load float32 in1[tx]");
    EXPECT_EQ(listing(function.program)[6], "out0[tx] = val0");
}

TEST_P(EmitTest, LinesOfAUsersKernelAreThoseOfItsTree) {
    GraphScope scope;
    Function function(GetParam(), counting(GetParam()), copying());
    Places places;
    places.set(function.program.ops[4], 40);
    places.set(function.program.ops[6], 60);
    function.program.places = &places;
    for (Block& block : function.code.blocks)
        for (Instruction& instruction : block.code)
            instruction.origin = instruction.inst.row->flags & isa::kStore ? 6 : 4;
    auto lowered = emit(function.code);
    ASSERT_TRUE(lowered) << lowered.error().message;
    const isa::CodeObject object = isa::CodeObject::parse(lowered->object(GetParam()).value()).value();
    auto lines = isa::LineTable::read(object).value();
    EXPECT_EQ(lines.find(object.kernels[0].entry_address).line, 40u);
    const Error about = function.program.about(function.program.ops[6], make_error(ErrorKind::Unsupported, "no"));
    EXPECT_EQ(about.line, 60);
    EXPECT_EQ(about.file, "k.uops");
}

TEST_P(EmitTest, ABranchThatIsTooLongIsAnError) {
    Function function(GetParam(), "s_branch far\ns_nop 0\nfar:\ns_endpgm");
    std::vector<Instruction>& code = function.code.blocks[1].code;
    code.resize(32768, code[0]);
    auto lowered = emit(function.code);
    ASSERT_FALSE(lowered);
    EXPECT_NE(lowered.error().message.find("far is 32768 words away"), std::string::npos) << lowered.error().message;
    code.pop_back();
    EXPECT_TRUE(emit(function.code));
}

INSTANTIATE_TEST_SUITE_P(, EmitTest, testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
