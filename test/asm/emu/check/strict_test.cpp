#include <elf.h>

#include "strict.h"

// Strict mode on small kernels in assembly: each has one mistake, or none.
namespace strata::emu::harness {
namespace {

TEST(Strict, AnUnwrittenRegisterIsFoundWhereItIsStored) {
    expect_one(run(Arch::gfx1100, body("v_add_f32 v3, v2, v2\nglobal_store_b32 v1, v3, s[4:5]")), Kind::uninitialised,
               "v3 is stored");
    expect_none(run(Arch::gfx1100, body("v_mov_b32 v2, 1.0\nv_add_f32 v3, v2, v2\nglobal_store_b32 v1, v3, s[4:5]")));
}

TEST(Strict, AnUnwrittenRegisterIsFoundInAnAddressAndABranch) {
    expect_one(run(Arch::gfx1100, body("v_and_b32 v2, 63, v2\nv_mov_b32 v3, 0\nglobal_store_b32 v2, v3, s[4:5]")),
               Kind::uninitialised, "v2 forms an address");
    expect_one(run(Arch::gfx1100, body("s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 1\ns_nop 0")), Kind::uninitialised,
               "scc decides");
    expect_one(run(Arch::gfx1100, body("v_cmp_eq_u32 vcc_lo, 0, v9\ns_and_saveexec_b32 s8, vcc_lo")),
               Kind::uninitialised, "whether a lane is active");
}

TEST(Strict, AnUnwrittenRegisterIsFoundWhereItSelectsALane) {
    for (const char* lanes : {"v_readlane_b32 s8, v0, s20", "v_writelane_b32 v0, 1, s20",
                              "v_readfirstlane_b32 s20, v9\ns_and_b32 s20, s20, 31\nv_readlane_b32 s8, v0, s20"})
        expect_one(run(Arch::gfx1100, body(lanes)), Kind::uninitialised, "s20 selects a lane");
    for (const char* lanes : {"v_readlane_b32 s8, v9, 3", "s_and_b32 s20, s20, 0xffffffe0\nv_readlane_b32 s8, v0, s20",
                              "s_and_b32 s20, s20, 0\nv_writelane_b32 v9, 1, s20"})
        expect_none(run(Arch::gfx1100, body(lanes)));
}

TEST(Strict, AnUnwrittenRegisterIsFoundInAnotherLane) {
    for (const char* moved : {"v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
                              "v_mov_b32_dpp v3, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
                              "s_mov_b32 s8, -1\nv_permlanex16_b32 v3, v2, s8, s8", "v_interp_p2_f32 v3, v2, v0, v0",
                              "v_interp_p10_f32 v3, v0, v0, v2"}) {
        const std::string stored = std::string(moved) + "\nglobal_store_b32 v1, v3, s[4:5]";
        expect_one(run(Arch::gfx1100, body(stored)), Kind::uninitialised, "v3 is stored");
        expect_none(run(Arch::gfx1100, body("v_mov_b32 v2, 1.0\n" + stored)));
    }
}

TEST(Strict, WhatCannotReachTheResultIsNotFound) {
    expect_none(run(Arch::gfx1100, body("v_lshlrev_b32 v2, 16, v9\nv_and_b32 v3, 0xffff, v2\n"
                                        "global_store_b32 v1, v3, s[4:5]")));
    expect_none(
        run(Arch::gfx1100, body("v_mov_b32 v3, v9\nv_cmp_ne_u32 vcc_lo, v0, v0\nv_cndmask_b32 v3, 7, v3, vcc_lo\n"
                                "global_store_b32 v1, v3, s[4:5]")));
    expect_none(run(Arch::gfx1100, body("v_mad_u64_u32 v[2:3], null, 4, v0, v[0:1]\nglobal_store_b32 v1, v2, s[4:5]")));
}

TEST(Strict, EachLaneHasItsOwnPlaceInPrivateMemory) {
    // v1: four times the lane's number.
    const std::string through =
        "scratch_store_b32 v1, v0, off\ns_waitcnt_vscnt null, 0x0\n{}scratch_load_b32 v2, {}, off\n"
        "s_waitcnt vmcnt(0)\nglobal_store_b32 v1, v2, s[4:5]";
    const Sizes sizes{.scratch = 256};
    expect_none(run(Arch::gfx1100, body(fmt::format(fmt::runtime(through), "", "v1")), sizes));
    expect_one(run(Arch::gfx1100, body(fmt::format(fmt::runtime(through), "v_mov_b32 v3, 0\n", "v3")), sizes),
               Kind::uninitialised_memory, "v2 is stored");
}

TEST(Strict, AMixedMultiplicationAsksForTheHalvesThatItTakes) {
    const auto mixed = [](std::string_view selects) {
        return run(Arch::gfx1100, body(fmt::format("v_cvt_f16_f32 v2, 1.0\nv_fma_mix_f32 v3, v0, v2, v0 {}\n"
                                                   "global_store_b32 v1, v3, s[4:5]",
                                                   selects)));
    };
    expect_none(mixed("op_sel_hi:[0,1,0]"));
    expect_one(mixed("op_sel:[0,1,0] op_sel_hi:[0,1,0]"), Kind::uninitialised, "v3 is stored");
    expect_one(mixed("op_sel_hi:[0,0,0]"), Kind::uninitialised, "v3 is stored");
}

TEST(Strict, AMoveOfHalvesAsksForOneOfEachSource) {
    const auto moved = [](std::string_view selects) {
        const std::string text = fmt::format(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v4, 1\nv_mov_b32 v7, 2\n"
            "v_pk_mov_b32 v[8:9], v[4:5], v[6:7] {}\nv_add_u32 v8, v8, v9\ns_waitcnt lgkmcnt(0)\n"
            "global_store_dword v1, v8, s[4:5]\ns_endpgm\n",
            selects);
        return run(Arch::gfx90a, text);
    };
    expect_none(moved("op_sel:[0,1]"));
    expect_one(moved("op_sel:[1,1]"), Kind::uninitialised, "v8 is stored");
    expect_one(moved("op_sel:[0,0]"), Kind::uninitialised, "v8 is stored");
}

TEST(Strict, LanesCountOneByOne) {
    expect_none(
        run(Arch::gfx1100, body("s_mov_b32 exec_lo, 0xffff\nv_mov_b32 v3, 1\nglobal_store_b32 v1, v3, s[4:5]")));
    const Ran ran = run(Arch::gfx1100, body("s_mov_b32 exec_lo, 0xffff\nv_mov_b32 v3, 1\ns_mov_b32 exec_lo, -1\n"
                                            "global_store_b32 v1, v3, s[4:5]"));
    expect_one(ran, Kind::uninitialised, "v3 is stored");
    EXPECT_EQ(ran.findings[0].witness->lanes, 0xffff0000u);
}

TEST(Strict, UnwrittenLocalAndPrivateMemoryIsFoundAtItsUse) {
    const Ran local = run(Arch::gfx1100,
                          body("ds_load_b32 v3, v1\ns_waitcnt lgkmcnt(0)\n"
                               "global_store_b32 v1, v3, s[4:5]"),
                          {.lds = 256});
    expect_one(local, Kind::uninitialised_memory, "v3 is stored");
    EXPECT_EQ(local.findings[0].earlier, 24u);
    expect_none(run(Arch::gfx1100,
                    body("ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nds_load_b32 v3, v1\n"
                         "s_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v3, s[4:5]"),
                    {.lds = 256}));
    expect_one(run(Arch::gfx1100,
                   body("scratch_store_b32 off, v9, off\ns_waitcnt_vscnt null, 0x0\n"
                        "scratch_load_b32 v3, off, off\ns_waitcnt vmcnt(0)\n"
                        "global_store_b32 v1, v3, s[4:5]"),
                   {.scratch = 16}),
               Kind::uninitialised_memory, "v3 is stored");
}

TEST(Strict, AMissingWaitIsFoundWithWhatIsMissing) {
    const Ran ran = run(Arch::gfx1100, body("global_load_b32 v3, v1, s[4:5]\nv_add_nc_u32 v3, 1, v3\n"
                                            "global_store_b32 v1, v3, s[4:5]"));
    expect_one(ran, Kind::missing_wait, "s_waitcnt vmcnt(0)");
    EXPECT_EQ(ran.findings[0].count, 1u);
    expect_none(run(Arch::gfx1100, body("global_load_b32 v3, v1, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v3, 1, v3\n"
                                        "global_store_b32 v1, v3, s[4:5]")));
}

TEST(Strict, ADistanceTooShortIsFound) {
    const std::string_view start = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\n";
    const auto code = [&](std::string_view nop) {
        return std::string(start) + "v_mov_b32 v2, v0\n" + std::string(nop) +
               "v_mov_b32_dpp v3, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
               "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, s[4:5]\ns_endpgm\n";
    };
    expect_one(run(Arch::gfx942, code("")), Kind::hazard, "s_nop 1");
    expect_none(run(Arch::gfx942, code("s_nop 1\n")));
}

TEST(Strict, WhatMayRunTwiceIsToldByTheObject) {
    constexpr uint32_t kAny = 0x100, kOff = 0x200, kOn = 0x300;  // e_flags: XNACK
    constexpr std::string_view kClause = "s_load_dword s4, s[0:1], 0x0\ns_load_dwordx2 s[0:1], s[0:1], 0x0\ns_endpgm\n";
    for (const uint32_t says : {kAny, kOff, kOn}) {
        std::vector<uint8_t> code = object(Arch::gfx90a, kClause, {});
        uint32_t flags = 0;
        memcpy(&flags, code.data() + offsetof(Elf64_Ehdr, e_flags), sizeof flags);
        flags = (flags & ~kOn) | says;
        memcpy(code.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
        const Ran ran = run_object(Arch::gfx90a, code, kClause, {});
        if (says == kOff)
            expect_none(ran);
        else
            expect_one(ran, Kind::hazard, "clause");
    }
}

constexpr std::string_view kExchange =
    "ds_store_b32 v1, v0\n"
    "s_waitcnt lgkmcnt(0)\n"
    "{}"
    "v_xor_b32 v2, 0x80, v1\n"
    "ds_load_b32 v3, v2\n"
    "s_waitcnt lgkmcnt(0)\n"
    "global_store_b32 v1, v3, s[4:5]";
std::string exchange(std::string_view barrier) {
    std::string text(kExchange);
    text.replace(text.find("{}"), 2, barrier);
    return body(text);
}

TEST(Strict, LocalMemoryWithoutABarrierBetweenWavesIsARace) {
    const Ran ran = run(Arch::gfx1100, exchange(""), {.lds = 256, .block = 64});
    ASSERT_TRUE(ran.stats);
    EXPECT_TRUE(std::ranges::count(kinds(ran), Kind::lds_race)) << words(ran);
    expect_none(run(Arch::gfx1100, exchange("s_barrier\n"), {.lds = 256, .block = 64}));
    expect_one(run(Arch::gfx1100, exchange(""), {.lds = 256}), Kind::uninitialised_memory, "v3 is stored");
    expect_none(run(Arch::gfx1100,
                    body("ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\nds_load_b32 v3, v1\n"
                         "s_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v3, s[4:5]"),
                    {.lds = 256, .block = 64}));
}

TEST(Strict, LanesThatExchangeWhatTheyHoldTouchNoLocalMemory) {
    for (const std::string_view exchanges : {"ds_bpermute_b32 v3, v2, v0", "ds_permute_b32 v3, v2, v0"})
        expect_none(
            run(Arch::gfx1100,
                body(fmt::format("ds_store_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_xor_b32 v2, 0x80, v1\n"
                                 "{}\ns_waitcnt lgkmcnt(0)\nds_store_b32 v1, v3\nglobal_store_b32 v1, v3, s[4:5]",
                                 exchanges)),
                {.lds = 256, .block = 64}));
}

TEST(Strict, AtomicsOnLocalMemoryAreNoRace) {
    expect_none(run(Arch::gfx1100,
                    body("v_mov_b32 v2, 0\nv_mov_b32 v3, 1\nv_cmp_gt_u32 vcc_lo, 32, v0\n"
                         "s_and_saveexec_b32 s8, vcc_lo\nds_store_b32 v2, v2\ns_mov_b32 exec_lo, s8\n"
                         "s_waitcnt lgkmcnt(0)\ns_barrier\nds_add_u32 v2, v3\n"
                         "s_waitcnt lgkmcnt(0)"),
                    {.lds = 256, .block = 64}));
}

TEST(Strict, ABarrierThatAWaveNeverMeetsIsFound) {
    const Ran ran =
        run(Arch::gfx1100, body("v_readfirstlane_b32 s8, v0\ns_cmp_lt_u32 s8, 32\ns_cbranch_scc1 1\ns_barrier"),
            {.block = 64});
    expect_one(ran, Kind::divergent_barrier, "wave 0 ended without coming to this barrier");
    const Ran waited =
        run(Arch::gfx1100, body("v_readfirstlane_b32 s8, v0\ns_cmp_lt_u32 s8, 32\ns_cbranch_scc0 1\ns_barrier"),
            {.block = 64});
    expect_one(waited, Kind::divergent_barrier, "wave 1 ended without coming to this barrier");
    expect_none(run(Arch::gfx1100,
                    body("s_barrier\nv_readfirstlane_b32 s8, v0\ns_cmp_lt_u32 s8, 32\ns_cbranch_scc1 1\ns_nop 0"),
                    {.block = 64}));
}

TEST(Strict, RaisingEndsTheLaunchAtTheFirstFinding) {
    const Ran ran = run(Arch::gfx1100,
                        body("v_mov_b32 v3, v9\nglobal_store_b32 v1, v3, s[4:5]\n"
                             "global_store_b32 v1, v10, s[4:5]"),
                        {}, Check::raise);
    ASSERT_FALSE(ran.stats);
    EXPECT_EQ(ran.stats.error().kind, ErrorKind::Check);
    for (const char* part : {"kernel 'k'", "global_store_b32 v1, v3", "write v3 on every way"})
        EXPECT_NE(ran.stats.error().message.find(part), std::string::npos) << ran.stats.error().message;
    EXPECT_EQ(ran.findings.size(), 1u);
    EXPECT_EQ(ran.out, std::vector<int>(ran.out.size(), -1)) << "the store did not happen";
}

TEST(Strict, ResultsAndModelledTimeStay) {
    const std::string text = exchange("s_barrier\n");
    const Ran plain = run(Arch::gfx1100, text, {.lds = 256, .block = 64, .timed = true}, Check::off),
              strict = run(Arch::gfx1100, text, {.lds = 256, .block = 64, .timed = true});
    ASSERT_TRUE(plain.stats);
    expect_none(strict);
    EXPECT_EQ(plain.out, strict.out);
    EXPECT_EQ(plain.stats->modelled_cycles, strict.stats->modelled_cycles);
    EXPECT_EQ(plain.stats->wave_instructions, strict.stats->wave_instructions);
}

TEST(Strict, OperationsOfADualInstructionKnowTheirOwnOperandsAlone) {
    const auto stored = [](std::string_view dual, std::string_view which) {
        return run(Arch::gfx1100, body(fmt::format("s_mov_b32 vcc_lo, 5\nv_mov_b32 v2, 1.0\nv_mov_b32 v3, "
                                                   "2.0\nv_mov_b32 v4, 2.0\n{}\nglobal_store_b32 v1, {}, s[4:5]",
                                                   dual, which)));
    };
    for (const char* known : {"v_dual_mul_f32 v5, v2, v3", "v_dual_min_f32 v5, v2, v3", "v_dual_mov_b32 v5, v3"})
        for (const char* other :
             {"v_dual_max_f32 v6, v12, v8", "v_dual_fmac_f32 v6, 1.0, v4", "v_dual_cndmask_b32 v6, v12, v8"}) {
            const std::string dual = fmt::format("{} :: {}", known, other);
            expect_none(stored(dual, "v5"));
            expect_one(stored(dual, "v6"), Kind::uninitialised, "v6 is stored");
        }
}

/// The other half of a register that is added to is nobody's.
TEST(Strict, ASumOfHalvesWantsTheHalfThatItIsAddedTo) {
    expect_none(run(Arch::gfx1100, body("v_add_f16 v2, 1.0, 1.0\n v_fmac_f16 v2, 2.0, v2\n"
                                        "global_store_b16 v1, v2, s[4:5]")));
    expect_one(run(Arch::gfx1100, body("v_mov_b32 v3, 0\n v_fmac_f16 v2, 2.0, v3\n global_store_b16 v1, v2, s[4:5]")),
               Kind::uninitialised, "v2");
}

}  // namespace
}  // namespace strata::emu::harness
