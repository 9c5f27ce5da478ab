#include <fmt/format.h>

#include "strict.h"

// Loads that go to local memory, of two waves: each fills 256 bytes of its own.
namespace strata::emu::harness {
namespace {

constexpr std::string_view kStart9 =
    "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";
const Sizes kTwoWaves{.lds = 1024, .block = 128};

std::string load_of(Arch arch, std::string_view operands = "v1, s[4:5]") {
    return arch == Arch::gfx942 ? fmt::format("global_load_lds_dword {}\n", operands)
                                : fmt::format("global_load_dword {} lds\n", operands);
}

/// `between`: the load and the read of what the wave itself copied, or with `other` the other one.
Ran copied(Arch arch, std::string_view between, bool other = false) {
    const std::string text = fmt::format(
        "v_readfirstlane_b32 s8, v1\ns_mov_b32 m0, s8\ns_nop 0\n{}{}\nv_xor_b32 v2, {:#x}, v1\nds_read_b32 v3, v2\n"
        "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[4:5]\ns_waitcnt vmcnt(0)\n",
        load_of(arch), between, other ? 256 : 0);
    return run(arch, std::string(kStart9) + text + "s_endpgm\n", kTwoWaves);
}

class LocalCopiesTest : public ::testing::TestWithParam<Arch> {};

TEST_P(LocalCopiesTest, AreReadAfterAWaitAndABarrier) {
    const Ran ran = copied(GetParam(), "s_waitcnt vmcnt(0)\ns_barrier", true);
    expect_none(ran);
    EXPECT_EQ(std::ranges::count(ran.out, -1), 258);
}

TEST_P(LocalCopiesTest, MissAWaitWhereTheirOwnWaveReadsThem) {
    const Ran ran = copied(GetParam(), "s_nop 0");
    expect_one(ran, Kind::missing_wait, "of local memory is read while global_load_");
    EXPECT_NE(words(ran).find("; a wait for it before this"), std::string::npos) << words(ran);
}

TEST_P(LocalCopiesTest, MissAWaitWhereAnotherWaveReadsThemAfterABarrier) {
    const Ran ran = copied(GetParam(), "s_barrier", true);
    ASSERT_TRUE(ran.stats);
    EXPECT_EQ(std::ranges::count(kinds(ran), Kind::missing_wait), 1) << words(ran);
    EXPECT_NE(words(ran).find("a wait for it in wave"), std::string::npos) << words(ran);
}

TEST_P(LocalCopiesTest, RaceWhereAnotherWaveReadsThemWithoutABarrier) {
    const Ran ran = copied(GetParam(), "s_waitcnt vmcnt(0)", true);
    ASSERT_TRUE(ran.stats);
    ASSERT_FALSE(ran.findings.empty());
    for (const Finding& finding : ran.findings)
        EXPECT_TRUE(finding.kind == Kind::lds_race || finding.kind == Kind::uninitialised_memory ||
                    finding.kind == Kind::missing_wait)
            << words(ran);
}

TEST_P(LocalCopiesTest, AWaitThatLetsYoungerOperationsGoOnEndsThoseBefore) {
    const std::string second = "s_add_u32 m0, m0, 0x200\ns_nop 0\n" + load_of(GetParam());
    expect_none(copied(GetParam(), second + "s_waitcnt vmcnt(1)"));
    expect_one(copied(GetParam(), second + "s_waitcnt vmcnt(2)"), Kind::missing_wait, "while global_load");
    expect_none(copied(GetParam(), "global_load_dword v5, v1, s[4:5]\ns_waitcnt vmcnt(1)"));
}

TEST_P(LocalCopiesTest, MayNotBeWrittenWhileTheyAreUnderWay) {
    expect_one(copied(GetParam(), "ds_write_b32 v1, v1\ns_waitcnt vmcnt(0) lgkmcnt(0)"), Kind::missing_wait,
               "of local memory is written while");
}

INSTANTIATE_TEST_SUITE_P(Archs, LocalCopiesTest, ::testing::Values(Arch::gfx942, Arch::gfx90a),
                         [](const auto& info) { return std::string(isa::info(info.param).name); });

}  // namespace
}  // namespace strata::emu::harness
