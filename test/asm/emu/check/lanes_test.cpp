#include <fmt/format.h>

#include "strict.h"

// Findings of strict mode about lanes: instructions without any, barriers that some go around.
namespace strata::emu::harness {
namespace {

constexpr Arch kArchs[] = {Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a};

std::string without_lanes(std::string_view text) {
    return body("v_mov_b32 v2, 1\ns_mov_b32 exec_lo, 0\n" + std::string(text) + "\ns_mov_b32 exec_lo, -1\ns_nop 0");
}

TEST(Lanes, MemoryAndReadfirstlaneWithoutAnActiveLaneAreFound) {
    const Sizes sizes{.lds = 256, .scratch = 16};
    for (const char* text :
         {"global_load_b32 v3, v1, s[4:5]", "global_store_b32 v1, v2, s[4:5]", "global_atomic_add_u32 v1, v2, s[4:5]",
          "ds_store_b32 v1, v2", "ds_load_b32 v3, v1", "s_mov_b64 s[6:7], -1\nbuffer_load_b32 v3, v1, s[4:7], 0 offen"})
        expect_one(run(Arch::gfx1100, without_lanes(text), sizes), Kind::no_active_lane, "moves nothing");
    expect_one(run(Arch::gfx1100, without_lanes("v_readfirstlane_b32 s8, v2")), Kind::no_active_lane, "lane 0");
}

TEST(Lanes, MemoryThatSomeWaveHasLanesForIsRight) {
    const std::string text = body(
        "v_mov_b32 v2, 1\nv_cmp_gt_u32 vcc_lo, 20, v0\ns_and_saveexec_b32 s8, vcc_lo\n"
        "global_store_b32 v1, v2, s[4:5]\ns_mov_b32 exec_lo, s8");
    for (const uint32_t block : {32u, 64u, 128u}) expect_none(run(Arch::gfx1100, text, {.block = block}));
}

TEST(Lanes, WhatNeedsNoneRunsWithoutThem) {
    expect_none(run(Arch::gfx1100, without_lanes("scratch_store_b32 off, v2, off"), {.scratch = 16}));
    for (const char* text : {"v_add_f32 v3, v2, v2", "v_readlane_b32 s8, v2, 3", "v_writelane_b32 v2, 4, 3",
                             "v_cmp_eq_u32 vcc_lo, v2, v2", "s_load_b32 s8, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)",
                             "s_barrier", "buffer_gl0_inv", "s_cbranch_execz 2\nglobal_store_b32 v1, v2, s[4:5]"})
        expect_none(run(Arch::gfx1100, without_lanes(text)));
}

/// Lanes below s8 go through a barrier, others around; `behind` is what all of them do then.
std::string around_barrier(std::string_view lanes, std::string_view behind) {
    return body("v_mov_b32 v2, 1\ns_movk_i32 s8, " + std::string(lanes) +
                "\nv_cmp_gt_u32 vcc_lo, s8, v0\ns_and_saveexec_b32 s9, vcc_lo\ns_cbranch_execz 2\n"
                "v_mov_b32 v3, 2\ns_barrier\ns_or_b32 exec_lo, exec_lo, s9\n" +
                std::string(behind));
}

TEST(Lanes, ABarrierThatSomeLanesGoAroundIsFound) {
    const Ran ran = run(Arch::gfx1100, around_barrier("7", "global_store_b32 v1, v2, s[4:5]"));
    expect_one(ran, Kind::divergent_barrier, "others go around");
    EXPECT_EQ(ran.findings[0].witness->lanes, 0xffffff80u);
    EXPECT_EQ(ran.findings[0].earlier, ran.findings[0].pc - 8) << "the branch";
}

TEST(Lanes, ABarrierOfAllLanesOrOfTheLastOnesIsRight) {
    expect_none(run(Arch::gfx1100, around_barrier("64", "global_store_b32 v1, v2, s[4:5]")));
    expect_none(run(Arch::gfx1100, around_barrier("7", "s_nop 0")));  // the others have ended
    expect_none(run(Arch::gfx1100, body("v_cmp_gt_u32 vcc_lo, 7, v0\ns_and_saveexec_b32 s9, vcc_lo\ns_barrier\n"
                                        "s_mov_b32 exec_lo, s9\nv_mov_b32 v2, 1\nglobal_store_b32 v1, v2, s[4:5]")));
    expect_none(run(Arch::gfx1100, body("v_mov_b32 v2, 1\ns_barrier\nglobal_store_b32 v1, v2, s[4:5]"), {.block = 40}));
}

// k(int* out) of 64 lanes.
constexpr struct {
    std::string_view name, body;
    bool diverges;
} kPrograms[] = {
    {"AroundABranch", "if (TX < 16) out[TX] = 1; __builtin_amdgcn_s_barrier(); out[TX + 64] = 2;", false},
    {"InABranchOfSomeLanes", "if (TX % 2) { out[TX] = 1; __builtin_amdgcn_s_barrier(); } out[TX + 64] = 2;", true},
    {"InABranchThatAllTake", "if (TX < 100) { out[TX] = 1; __builtin_amdgcn_s_barrier(); } out[TX + 64] = 2;", false},
    {"BehindAnEarlyReturn", "if (TX % 2) return; out[TX] = 1; __builtin_amdgcn_s_barrier(); out[TX + 64] = 2;", false},
    {"InALoopOfTheSameLength", "for (int i = 0; i < 3; ++i) { out[TX] += i; __builtin_amdgcn_s_barrier(); }", false},
    {"InALoopThatLanesLeave",
     "for (int i = 0; i < 3 + (int)(TX % 32); ++i) { out[TX] += i; __builtin_amdgcn_s_barrier(); } out[TX + 64] = 1;",
     true},
    {"MemoryInBranchesThatNoLaneTakes",
     "if (TX > 1000) { __shared__ int part[64]; part[TX] = out[TX]; out[part[63 - TX]] = 3; } if (out[TX] > 7) out[TX] "
     "= 1;",
     false},
    {"ReadfirstlaneInABranchThatNoLaneTakes",
     "if (TX > 1000) out[__builtin_amdgcn_readfirstlane(TX)] = 3; out[TX] = 1;", false},
};

class Compiled : public ::testing::TestWithParam<Arch> {};
TEST_P(Compiled, BarriersAreFoundThatSomeLanesGoAroundAndLanesAreThereWhereverTheyAreWanted) {
    for (const char* level : {"-O0", "-O1", "-O2", "-O3"})
        for (const auto& program : kPrograms) {
            const std::string source = "KERNEL void k(int* out) { " + std::string(program.body) + " }";
            const Ran ran =
                run_object(GetParam(), compile_hip(source, level, isa::info(GetParam()).name), source, {.block = 64});
            ASSERT_TRUE(ran.stats) << program.name << ": " << ran.stats.error().message;
            const std::vector<Kind> found = kinds(ran);
            EXPECT_EQ(std::ranges::count(found, Kind::divergent_barrier) != 0, program.diverges)
                << program.name << " " << level << "\n"
                << words(ran);
            EXPECT_EQ(std::ranges::count(found, Kind::no_active_lane), 0) << program.name << " " << level << words(ran);
        }
}
INSTANTIATE_TEST_SUITE_P(Archs, Compiled, ::testing::ValuesIn(kArchs),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

/// Waves that come to other numbers of barriers, or to others.
TEST(Lanes, WavesAtOtherBarriersOrNoneAreFoundOnSplitBarriersToo) {
    const auto by_wave = [](std::string_view barrier) {
        return "v_readfirstlane_b32 s8, v0\ns_cmp_lt_u32 s8, 32\ns_cbranch_scc1 " + std::string(barrier);
    };
    const Sizes two{.block = 64};
    constexpr std::string_view kSignal = "s_barrier_signal -1\ns_barrier_wait -1\n";
    const std::string start = "v_and_b32 v0, 0x3ff, v0\n", end = "s_endpgm\n";
    expect_one(run(Arch::gfx1201, start + by_wave("2\n") + std::string(kSignal) + end, two), Kind::divergent_barrier,
               "ended without coming to this barrier");
    expect_none(run(Arch::gfx1201, start + std::string(kSignal) + by_wave("1\n") + "s_nop 0\n" + end, two));
    const Ran other = run(Arch::gfx1100, body(by_wave("2\n") + "s_barrier\ns_branch 1\ns_barrier"), two);
    expect_one(other, Kind::divergent_barrier, "another waits at another barrier");
    const Ran twice = run(Arch::gfx1100, body(by_wave("1\n") + "s_barrier\ns_barrier"), two);
    ASSERT_TRUE(twice.stats);
    EXPECT_EQ(std::ranges::count(kinds(twice), Kind::divergent_barrier), std::ssize(kinds(twice))) << words(twice);
    EXPECT_FALSE(twice.findings.empty());
}

/// The callee's first instructions are near to the caller's last, and the other way around.
TEST(Lanes, DistancesSpanCallsAndReturns) {
    const auto text = [](Arch arch, std::string_view before, std::string_view entry, std::string_view leaves,
                         std::string_view behind) {
        const auto bytes = [&](std::string_view part) {
            return part.empty() ? 0 : 4 * isa::assemble_instructions(part, arch).value().size();
        };
        return fmt::format(
            "v_mov_b32 v2, v0\ns_getpc_b64 s[8:9]\ns_add_u32 s8, s8, {}\ns_addc_u32 s9, s9, 0\ns_nop 7\n{}"
            "s_swappc_b64 s[30:31], s[8:9]\n{}s_endpgm\n{}s_nop 7\n{}s_setpc_b64 s[30:31]\n",
            20 + bytes(before) + bytes(behind), before, behind, entry, leaves);
    };
    const std::string_view writes = "v_readfirstlane_b32 s6, v0\n", reads = "v_readlane_b32 s7, v2, s6\n";
    const std::string_view clean = "s_mov_b32 s6, 3\n";
    for (const Arch arch : {Arch::gfx942, Arch::gfx90a}) {
        expect_one(run(arch, text(arch, writes, reads, "", "")), Kind::hazard, "a lane is selected");
        expect_one(run(arch, text(arch, clean, "", writes, reads)), Kind::hazard, "a lane is selected");
        expect_none(run(arch, text(arch, writes, "s_nop 1\n" + std::string(reads), "", "")));
        expect_none(run(arch, text(arch, clean, reads, "", reads)));
    }
}

}  // namespace
}  // namespace strata::emu::harness
