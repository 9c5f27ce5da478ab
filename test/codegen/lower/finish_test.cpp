#include <gtest/gtest.h>

#include "function.h"
#include "strata/asm/emu/gpu.h"

// Code without waits, distances and masks, finished and run in strict mode.
namespace strata::codegen {
namespace {

/// Threads below `limit` read a float, all give it to a neighbour through local memory, those below store the sum.
std::string exchange(isa::Arch arch, int limit) {
    const isa::Family family = isa::info(arch).family;
    const bool cdna = isa::is_cdna(family), rdna4 = family == isa::Family::rdna4;
    const std::string mask = cdna ? "s[8:9]" : "s8";
    return fmt::format(
        "s_load_{} s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\nv_cmp_gt_u32 {}, {}, v0\nv_mov_b32 v2, 0\n"
        "predicate s8: global_load_{} v2, v1, s[6:7]\nds_{}_b32 v1, v2\n{}\nv_xor_b32 v3, 4, v1\nds_{}_b32 v4, v3\n"
        "v_add_f32 v4, v4, v2\npredicate s8: global_store_{} v1, v4, s[4:5]\ns_endpgm",
        cdna ? "dwordx4" : "b128", mask, limit, cdna ? "dword" : "b32", cdna ? "write" : "store",
        rdna4 ? "s_barrier_signal -1\ns_barrier_wait 0xffff" : "s_barrier", cdna ? "read" : "load",
        cdna ? "dword" : "b32");
}

class FinishTest : public testing::TestWithParam<isa::Arch> {};

TEST_P(FinishTest, FinishedCodeDoesWhatItsPredicatesSayAndStrictModeFindsNothing) {
    GraphScope scope;
    for (int limit : {0, 20, 40, 64}) {
        LinearProgram program = copying();
        program.lds = 256;
        Function function(GetParam(), exchange(GetParam(), limit), program);
        ASSERT_TRUE(finish(function.code));
        auto valid = verify(function.code, Check::finished);
        ASSERT_TRUE(valid) << valid.error().message;
        emu::Gpu gpu(GetParam());
        auto module = gpu.load(emit(function.code).value().object(GetParam()).value()).value();
        std::array<float, 64> in{}, out{};
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * i + 1), out[i] = -1;
        std::array<uint64_t, 2> arguments{gpu.allocate(256).value(), gpu.allocate(256).value()};
        ASSERT_TRUE(gpu.write(arguments[0], out.data(), 256) && gpu.write(arguments[1], in.data(), 256));
        std::vector<lint::Finding> found;
        auto ran = gpu.launch(*module, "k", {.block = {64, 1, 1}, .check = emu::Check::report, .findings = &found},
                              std::span(reinterpret_cast<const uint8_t*>(arguments.data()), 16));
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_TRUE(found.empty()) << found[0].what << "\n" << function.text();
        ASSERT_TRUE(gpu.read(out.data(), arguments[0], 256));
        for (size_t i = 0; i < out.size(); ++i) {
            const auto read = [&](size_t at) { return static_cast<int>(at) < limit ? in[at] : 0.0f; };
            EXPECT_EQ(out[i], static_cast<int>(i) < limit ? read(i) + read(i ^ 1) : -1.0f) << i << " of " << limit;
        }
    }
}

TEST_P(FinishTest, TheTextOfFinishedCodeAssemblesToTheSameWords) {
    GraphScope scope;
    Function function(GetParam(), exchange(GetParam(), 20), copying());
    ASSERT_TRUE(finish(function.code));
    auto lowered = emit(function.code);
    ASSERT_TRUE(lowered) << lowered.error().message;
    expect_text_of_object(GetParam(), *lowered);
}

/// Counts in a loop of `size` additions, of which a half is left out when three rounds are left, and stores the count.
std::string long_loop(isa::Arch arch, int size) {
    const isa::Family family = isa::info(arch).family;
    const bool cdna = isa::is_cdna(family);
    std::string half;
    for (int i = 0; i < size / 2; ++i) half += "v_add_f32 v1, 1.0, v1\n";
    return fmt::format(
        "s_load_{0} s[4:5], s[0:1], 0x0\ns_mov_b32 s6, 5\nv_mov_b32 v1, 0\nv_lshlrev_b32 v2, 2, v0\nloop_r0:\n"
        "s_cmp_eq_u32 s6, 3\ns_cbranch_scc1 behind\n{1}behind:\n{1}s_add_{2} s6, s6, -1\ns_cmp_lg_u32 s6, 0\n"
        "s_cbranch_scc1 loop_r0\nend:\nglobal_store_{3} v2, v1, s[4:5]\ns_endpgm",
        cdna ? "dwordx2" : "b64", half, family == isa::Family::rdna4 ? "co_u32" : "u32", cdna ? "dword" : "b32");
}

TEST_P(FinishTest, BranchesOfAnyLengthArriveWhereTheyGo) {
    GraphScope scope;
    for (int size : {1000, 80'000}) {
        Function function(GetParam(), long_loop(GetParam(), size), copying());
        const size_t blocks = function.code.blocks.size();
        ASSERT_TRUE(finish(function.code));
        EXPECT_EQ(function.code.blocks.size() == blocks, size == 1000);
        EXPECT_EQ(function.findings(), "");
        emu::Gpu gpu(GetParam());
        auto module = gpu.load(emit(function.code).value().object(GetParam()).value()).value();
        std::array<uint64_t, 2> arguments{gpu.allocate(256).value(), gpu.allocate(256).value()};
        auto ran = gpu.launch(*module, "k", {.block = {64, 1, 1}},
                              std::span(reinterpret_cast<const uint8_t*>(arguments.data()), 16));
        ASSERT_TRUE(ran) << ran.error().message;
        std::array<float, 64> values{};
        ASSERT_TRUE(gpu.read(values.data(), arguments[0], 256));
        for (float value : values) EXPECT_EQ(value, static_cast<float>(size * 4 + size / 2)) << size;
    }
}

INSTANTIATE_TEST_SUITE_P(, FinishTest, testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

}  // namespace
}  // namespace strata::codegen
