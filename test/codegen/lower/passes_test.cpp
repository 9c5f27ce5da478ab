#include <gtest/gtest.h>

#include "function.h"

// Each pass on small code, for each family where they differ.
namespace strata::codegen {
namespace {

using isa::Arch;

struct Case {
    std::string_view name;
    Arch arch;
    Result<void> (*pass)(MachineFunction&);
    std::string_view before, after;
};
void PrintTo(const Case& one, std::ostream* to) { *to << one.before; }
const Case kCases[] = {
#include "passes_cases.def"
};

class PassTest : public testing::TestWithParam<Case> {};

TEST_P(PassTest, Changes) {
    const Case& one = GetParam();
    Function function(one.arch, one.before);
    ASSERT_TRUE(one.pass(function.code));
    auto valid = verify(function.code, Check::placed);
    EXPECT_TRUE(valid) << valid.error().message;
    std::string wanted;
    for (const std::string& line : split(one.after)) wanted += line + "\n";
    EXPECT_EQ(function.text(), wanted) << to_string(function.code);
}

INSTANTIATE_TEST_SUITE_P(, PassTest, testing::ValuesIn(kCases), [](const auto& one) {
    return std::string(isa::info(one.param.arch).name) + std::string(one.param.name);
});

TEST(PredicateLanes, WavesThatBeganWithoutSomeLanesGetTheirsBack) {
    Function function(Arch::gfx1100, "predicate s4: v_mov_b32 v1, v2\nv_mov_b32 v3, v1\ns_endpgm");
    function.code.partial_waves = true;
    function.code.all_lanes = function.code.add(Bank::scalar, 1);
    function.code.registers[function.code.all_lanes.reg].place = 12;
    ASSERT_TRUE(exec_masks(function.code));
    EXPECT_EQ(function.text(),
              "s_mov_b32 exec_lo, s4\nv_mov_b32_e32 v1, v2\ns_mov_b32 exec_lo, s12\nv_mov_b32_e32 v3, v1\ns_endpgm\n");
}

/// RDNA's do with nothing under way, whoever needs it.
TEST(InsertWaits, AWaveComesToABarrierAsChipsWant) {
    const auto finished = [&](Arch arch, std::string_view text) {
        Function function(arch, text);
        EXPECT_TRUE(insert_waits(function.code));
        return function.text();
    };
    EXPECT_EQ(finished(Arch::gfx1100, "global_load_b32 v0, v1, s[2:3]\ns_barrier\ns_endpgm"),
              "global_load_b32 v0, v1, s[2:3]\ns_waitcnt vmcnt(0)\ns_barrier\ns_endpgm\n");
    EXPECT_EQ(
        finished(Arch::gfx1201,
                 "global_store_b32 v0, v1, s[2:3]\ns_barrier_signal -1\ns_barrier_wait 0xffff\ns_endpgm"),
        "global_store_b32 v0, v1, s[2:3]\ns_wait_storecnt 0x0\ns_barrier_signal -1\ns_barrier_wait 0xffff\ns_endpgm\n");
    EXPECT_EQ(finished(Arch::gfx90a, "global_load_dword v0, v1, s[2:3]\ns_barrier\ns_endpgm"),
              "global_load_dword v0, v1, s[2:3]\ns_barrier\ns_endpgm\n");
}

/// Threads of a workgroup see what others stored to a buffer that the kernel reads too.
TEST(InsertWaits, BarriersOrderBuffersThatAreReadAndWritten) {
    GraphScope scope;
    const UOp buffer = param(0, 64), t = make(Op::special, dtypes::int32, {}, SpecialArg{true, 0, 64});
    const UOp place = at(buffer, t), value = load(place);
    LinearProgram program{.name = "k", .ops = {buffer, t, place, value, store(place, value)}, .params = {buffer}};
    const auto finished = [&](Arch arch, std::string_view text) {
        Function function(arch, text, program);
        EXPECT_TRUE(insert_waits(function.code));
        return function.text();
    };
    EXPECT_EQ(finished(Arch::gfx1100, "global_store_b32 v0, v1, s[2:3]\ns_barrier\ns_endpgm"),
              "global_store_b32 v0, v1, s[2:3]\ns_waitcnt_vscnt null, 0x0\ns_barrier\nbuffer_gl0_inv\ns_endpgm\n");
    EXPECT_EQ(finished(Arch::gfx1201,
                       "global_store_b32 v0, v1, s[2:3]\ns_barrier_signal -1\ns_barrier_wait 0xffff\ns_endpgm"),
              "global_store_b32 v0, v1, s[2:3]\nglobal_wb scope:SCOPE_SE\ns_wait_storecnt 0x0\n"
              "s_barrier_signal -1\ns_barrier_wait 0xffff\nglobal_inv scope:SCOPE_SE\ns_endpgm\n");
    EXPECT_EQ(finished(Arch::gfx942, "global_store_dword v0, v1, s[2:3]\ns_barrier\ns_endpgm"),
              "global_store_dword v0, v1, s[2:3]\ns_barrier\ns_endpgm\n");
}

}  // namespace
}  // namespace strata::codegen
