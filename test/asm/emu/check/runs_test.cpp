#include "strata/asm/emu/check/runs.h"

#include <fmt/format.h>

#include <random>

#include "strata/asm/emu/check/access_table.h"
#include "strict.h"

namespace strata::emu::harness {
namespace {

/// The straight runs of code: a letter an op, "s" where one starts, "i" inside, "a" asked about, "." alone.
std::string runs_of(Arch arch, std::string_view text, const Watched& watched) {
    const std::vector<uint32_t> words = isa::assemble_instructions(text, arch).value();
    const auto* const bytes = reinterpret_cast<const uint8_t*>(words.data());
    Program program(arch, isa::info(arch).wave_size, 32, 32, std::span(bytes, words.size() * 4), 0x10000);
    EXPECT_TRUE(program.entry(0)) << text;
    AccessTable table(program, watched);
    std::string letters;
    for (const InRun place : table.runs_of(*program.chunks().at(0))) letters += ".sia"[static_cast<int>(place)];
    return letters;
}

struct Case {
    std::string_view why, text, runs;
    Watched watched = {};
    Arch arch = Arch::gfx1100;
};

TEST(Runs, EndWhereControlOrExecChangesAndStartWhereWavesMeet) {
    const Case cases[] = {
        {"straight code", "v_mov_b32 v1, 0\ns_nop 0\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, v1\ns_endpgm", "siii"},
        {"a branch and its target",
         "v_mov_b32 v1, 0\nagain:\nv_mov_b32 v2, v1\ns_cbranch_scc1 again\nv_mov_b32 v3, 0\ns_endpgm", "ssisi"},
        {"EXEC is written", "v_mov_b32 v1, 0\ns_mov_b32 exec_lo, 1\nv_mov_b32 v2, 0\ns_endpgm", "sisi"},
        {"EXEC is written, and no lane asked for",
         "s_and_saveexec_b32 s4, vcc_lo\ns_cbranch_execz 1\nv_mov_b32 v1, 0\ns_endpgm", "siss"},
        {"lanes are given back",
         "s_and_saveexec_b32 s4, vcc_lo\ns_cbranch_execz 1\nv_mov_b32 v1, 0\ns_or_b32 exec_lo, exec_lo, s4\n"
         "v_mov_b32 v2, 0\ns_endpgm",
         "sissii"},
        {"lanes are given back, in half of a wave",
         "s_cbranch_scc0 0\ns_mov_b32 exec_lo, s4\nv_mov_b32 v2, 0\ns_endpgm",
         "sssi",
         {},
         Arch::gfx942},
        {"EXEC is a scalar", "s_cbranch_scc0 0\ns_mov_b32 exec_lo, s4\nv_mov_b32 v2, 0\ns_endpgm", "ssii"},
        {"EXEC is a scalar after something else",
         "s_nop 0\nv_mov_b32 v1, 0\ns_mov_b32 exec_lo, s4\nv_mov_b32 v2, 0\ns_endpgm", "siisi"},
        {"EXEC is compared into", "v_cmpx_eq_u32 0, v0\nv_mov_b32 v2, 0\ns_endpgm", "ssi"},
        {"local memory and barriers", "v_mov_b32 v1, 0\nds_store_b32 v1, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_endpgm",
         "sasi"},
        {"a call", "s_swappc_b64 s[4:5], s[6:7]\nv_mov_b32 v1, 0\ns_endpgm", "ssi"},
        {"other memory", "global_load_b32 v1, v0, s[0:1]\nglobal_store_b32 v0, v1, s[0:1]\ns_endpgm", "sii"},
        {"a scalar load that may be widened",
         "s_mov_b32 s8, 0\ns_load_b64 s[4:5], s[0:1], 0x0\ns_load_b32 s6, s[0:1], 0x0\ns_endpgm", "ssii"},
        {"other memory that may be private",
         "global_load_b32 v1, v0, s[0:1]\nglobal_store_b32 v0, v1, s[0:1]\ns_endpgm",
         "ssi",
         {.accesses_private = true}},
        {"memory that workgroups share",
         "s_load_b32 s4, s[0:1], 0x0\nglobal_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
         "global_store_b32 v0, v1, s[0:1]\ns_endpgm",
         "ssisi",
         {.global_memory = true}},
        {"registers by M0", "v_mov_b32 v1, 0\nv_movrels_b32 v1, v2\nv_mov_b32 v2, 0\ns_endpgm", "s.si"},
        {"registers by MODE",
         "s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v1, v2\ns_set_gpr_idx_off\ns_endpgm",
         ".....",
         {},
         Arch::gfx942},
    };
    for (const Case& one : cases)
        EXPECT_EQ(runs_of(one.arch, one.text, one.watched), one.runs) << one.why << "\n" << one.text;
}

/// Random code with every kind of mistake. v0 to v9 and s8 to s15 are any registers; v12 to v19 and s16 to s21 hold
/// addresses.
class RandomText {
  public:
    explicit RandomText(uint32_t seed) : engine_(seed) {}
    std::string next() {
        std::string text =
            "v_lshlrev_b32 v12, 2, v0\nv_xor_b32 v13, 0x80, v12\nv_lshlrev_b32 v14, 3, v0\nv_mov_b32 v15, 0x40\n"
            "s_mov_b32 s16, 3\ns_mov_b64 s[18:19], src_private_base\ns_mov_b64 s[20:21], src_shared_base\n"
            "v_mov_b32 v16, 0x20\nv_mov_b32 v17, s19\nv_mov_b32 v18, v14\nv_mov_b32 v19, s21\n";
        const int loops = any(3);
        for (int i = 0; i < loops; ++i) text += loop(i);
        return text + lines();
    }

  private:
    int any(int below) { return static_cast<int>(engine_() % static_cast<uint32_t>(below)); }
    std::string vector() { return fmt::format("v{}", any(10)); }
    std::string scalar() { return fmt::format("s{}", 8 + any(8)); }
    std::string address() { return fmt::format("v{}", 12 + any(4)); }
    std::string pointer() { return any(2) ? "v[16:17]" : "v[18:19]"; }
    std::string loop(int number) {
        return fmt::format(
            "s_mov_b32 s17, {}\nloop{}:\n{}s_sub_u32 s17, s17, 1\ns_cmp_lg_u32 s17, 0\ns_cbranch_scc1 loop{}\n",
            1 + any(4), number, lines(), number);
    }
    std::string lines() {
        std::string text;
        for (int i = 2 + any(14); i > 0; --i) text += line() + "\n";
        return text;
    }
    /// Some go another way, and EXEC is a scalar then.
    std::string lanes() {
        if (any(2)) return fmt::format("s_cbranch_scc0 0\ns_mov_b32 exec_lo, {}", scalar());
        return fmt::format(
            "s_and_saveexec_b32 s8, vcc_lo\ns_cbranch_execz 1\nv_mov_b32 {}, 1\ns_or_b32 exec_lo, exec_lo, {}",
            vector(), any(3) ? "s8" : scalar());
    }
    std::string line() {
        switch (any(46)) {
            case 0: return fmt::format("v_mov_b32 {}, {}", vector(), any(64));
            case 1: return fmt::format("v_add_nc_u32 {}, {}, {}", vector(), vector(), vector());
            case 2: return fmt::format("v_and_b32 {}, {}, {}", vector(), any(256), vector());
            case 3: return fmt::format("v_lshlrev_b32 {}, {}, {}", vector(), any(32), vector());
            case 4: return fmt::format("v_cndmask_b32 {}, {}, {}, vcc_lo", vector(), vector(), vector());
            case 5: return fmt::format("v_cmp_gt_u32 vcc_lo, {}, {}", vector(), vector());
            case 6: return fmt::format("s_mov_b32 {}, {}", scalar(), any(64));
            case 7: return fmt::format("s_add_u32 {}, {}, {}", scalar(), scalar(), scalar());
            case 8: return fmt::format("s_and_saveexec_b32 {}, vcc_lo", scalar());
            case 9: return "s_mov_b32 exec_lo, -1";
            case 10: return fmt::format("s_mov_b32 exec_lo, {:#x}", engine_());
            case 11: return fmt::format("v_readlane_b32 {}, {}, {}", scalar(), vector(), any(32));
            case 12: return fmt::format("v_writelane_b32 {}, {}, {}", vector(), scalar(), any(32));
            case 13: return fmt::format("v_readfirstlane_b32 {}, {}", scalar(), vector());
            case 14:
                return fmt::format("v_mov_b32_dpp {}, {} row_shr:1 row_mask:0xf bank_mask:0xf", vector(), vector());
            case 15: return fmt::format("v_permlanex16_b32 {}, {}, s16, s16", vector(), vector());
            case 16: return fmt::format("ds_store_b{} {}, {} offset:{}", 8 << any(3), address(), vector(), any(32));
            case 17: return fmt::format("ds_load_u{} {}, {} offset:{}", 8 << any(2), vector(), address(), any(32));
            case 18: return fmt::format("ds_load_b32 {}, {} offset:{}", vector(), address(), 4 * any(8));
            case 19:
                return fmt::format("ds_store_2addr_b32 {}, {}, {} offset1:{}", address(), vector(), vector(), any(8));
            case 20: return fmt::format("ds_load_2addr_b32 v[4:5], {} offset0:{}", address(), any(8));
            case 21: return fmt::format("ds_add_u32 {}, {}", address(), vector());
            case 22: return "s_barrier";
            case 23: return "s_waitcnt lgkmcnt(0)";
            case 24: return fmt::format("s_waitcnt vmcnt({})", any(2));
            case 25: return fmt::format("global_load_b32 {}, v12, s[4:5]", vector());
            case 26: return fmt::format("global_store_b32 v12, {}, s[4:5]", vector());
            case 27: return fmt::format("scratch_store_b32 off, {}, off offset:{}", vector(), any(14));
            case 28: return fmt::format("scratch_load_b32 {}, off, off offset:{}", vector(), any(14));
            case 29:
                return fmt::format("scratch_store_b{} {}, {}, off offset:{}", 8 << any(3), address(), vector(),
                                   any(32));
            case 30:
                return fmt::format("scratch_load_u{} {}, {}, off offset:{}", 8 << any(2), vector(), address(), any(32));
            case 31: return fmt::format("flat_load_b32 {}, {} offset:{}", vector(), pointer(), 4 * any(4));
            case 32: return fmt::format("flat_store_b{} {}, {}", 8 << any(3), pointer(), vector());
            case 34: return fmt::format("v_cvt_f16_f32 {}, {}", vector(), vector());
            case 35: return fmt::format("v_add_nc_u16 {}, {}, {}", vector(), vector(), vector());
            case 36:
                return fmt::format("v_add_nc_u16 {}, {}, {} op_sel:[{},{},{}]", vector(), vector(), vector(), any(2),
                                   any(2), any(2));
            case 37: return fmt::format("v_add_f16 {}, {}, {}", vector(), vector(), vector());
            case 38: return fmt::format("v_cvt_f32_f16 {}, {}", vector(), vector());
            case 39: return fmt::format("ds_load_u8_d16{} {}, {}", any(2) ? "_hi" : "", vector(), address());
            case 40: return fmt::format("ds_store_b{} {}, {}", any(2) ? "8" : "16", address(), vector());
            case 41:
                return fmt::format("v_fma_mix{}_f16 {}, {}, {}, 1.0 op_sel_hi:[{},0,0]", any(2) ? "lo" : "hi", vector(),
                                   vector(), vector(), any(2));
            case 42: return fmt::format("global_store_b{} v12, {}, s[4:5]", any(2) ? "8" : "16", vector());
            case 43:
            case 44: return lanes();
            case 33: return "s_load_b128 s[8:11], s[4:5], 0x400";
            default: return fmt::format("s_cmp_lt_u32 {}, {}\ns_cbranch_scc1 1\ns_mov_b32 s16, 2", scalar(), any(64));
        }
    }
    std::mt19937 engine_;
};

TEST(Runs, RandomCodeIsFoundTheSameOfWholeOrStepByStep) {
    const uint32_t seeds = getenv("STRATA_FUZZ_SEEDS") ? static_cast<uint32_t>(atoi(getenv("STRATA_FUZZ_SEEDS"))) : 300;
    size_t with_findings = 0;
    for (uint32_t seed = 0; seed < seeds; ++seed) {
        const Ran ran = run(Arch::gfx1100, body(RandomText(seed).next()), {.lds = 1024, .scratch = 1024, .block = 64});
        with_findings += !ran.findings.empty();
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(with_findings, seeds / 4);
    EXPECT_LT(with_findings, seeds);
}

/// Random accesses of four waves to local memory, in stretches, strides and bytes of their own or of others. They read
/// those of others more often than they write them; barriers are few or many.
std::string random_sharing(uint32_t seed) {
    std::mt19937 engine(seed);
    const auto any = [&](int below) { return static_cast<int>(engine() % static_cast<uint32_t>(below)); };
    std::string text =
        "v_lshlrev_b32 v12, 2, v0\nv_mul_u32_u24 v13, 20, v0\nv_xor_b32 v14, 0x80, v12\nv_mov_b32 v15, 0x200\n"
        "v_lshlrev_b32 v16, 4, v0\nv_mul_u32_u24 v17, 37, v0\nv_and_b32 v17, 0xfff, v17\nv_mov_b32 v2, 1\n"
        "v_mov_b32 v3, 2\nv_mov_b32 v4, 3\nv_mov_b32 v5, 4\ns_mov_b32 s17, 2\n";
    if (any(4))
        text += "ds_store_b128 v16, v[2:5]\nds_store_b128 v16, v[2:5] offset:2048\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
    text += "again:\n";
    const int writes = any(4), barriers = any(3);
    for (int i = 8 + any(80); i > 0; --i) {
        const std::string at = fmt::format("v{}", 12 + any(4 + any(3))),
                          offset = fmt::format(" offset:{}", 4 * any(512));
        const int what = any(32);
        if (what < writes)
            text += fmt::format("ds_store_b{} {}, v{}{}\n", 8 << any(3), at, any(2) ? 2 : 20, offset);
        else if (what < 2 * writes)
            text += any(2) ? fmt::format("ds_store_b128 v16, v[2:5]{}\n", offset)
                           : fmt::format("ds_add_u32 v12, v2{}\n", offset);
        else if (what < 2 * writes + barriers)
            text += "s_waitcnt lgkmcnt(0)\ns_barrier\n";
        else if (what < 12)
            text += fmt::format("ds_load_2addr_b32 v[6:7], v12 offset0:{} offset1:{}\n", any(256), any(256));
        else if (what < 16)
            text += fmt::format("ds_load_b128 v[8:11], v16{}\n", offset);
        else if (what < 18)
            text += fmt::format("s_mov_b32 exec_lo, {:#x}\n", any(2) ? ~0u : static_cast<uint32_t>(engine()));
        else if (what < 20)
            text += fmt::format("ds_{}permute_b32 v7, {}, v2\n", any(2) ? "b" : "", at);
        else
            text += fmt::format("ds_load_u{} v6, {}{}\n", any(2) ? 8 : 16, at, offset);
    }
    return text + "s_waitcnt lgkmcnt(0)\ns_barrier\ns_sub_u32 s17, s17, 1\ns_cmp_lg_u32 s17, 0\ns_cbranch_scc1 again\n";
}

TEST(Runs, WhatWavesShareInLocalMemoryIsFoundTheSameOfWholeOrStepByStep) {
    size_t with_races = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const Ran ran = run(Arch::gfx1100, body(random_sharing(seed)), {.lds = 8192, .block = 128, .grid = 2});
        with_races += static_cast<size_t>(std::ranges::count(kinds(ran), Kind::lds_race) != 0);
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(with_races, 40u);
    EXPECT_LT(with_races, 160u);
}

TEST(Runs, RacesBetweenWorkgroupsAreFoundTheSameOfWholeOrStepByStep) {
    size_t with_races = 0;
    for (uint32_t seed = 1000; seed < 1100; ++seed) {
        const Ran ran = run(Arch::gfx1100, body(RandomText(seed).next()),
                            {.lds = 1024, .scratch = 1024, .block = 64, .grid = 3, .races = true});
        with_races += static_cast<size_t>(std::ranges::count(kinds(ran), Kind::global_race) != 0);
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(with_races, 10u);
    EXPECT_LT(with_races, 90u);
}

}  // namespace
}  // namespace strata::emu::harness
