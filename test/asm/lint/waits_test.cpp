#include "strata/asm/lint/waits.h"

#include "path.h"

// Waits that code lacks, on one path and where paths meet. Expected: "what | fix", a line a finding.
namespace strata::lint {
namespace {

using harness::Path;
using isa::Arch;

std::string told(const std::vector<Finding>& found) {
    std::string all;
    for (const Finding& finding : found) all += (all.empty() ? "" : "\n") + finding.what + " | " + finding.fix;
    return all;
}

std::string found_in(Arch arch, std::string_view text) {
    Outstanding outstanding(arch);
    return told(Path::of(arch, text).run(outstanding));
}

struct Case {
    std::string_view name;
    Arch arch;
    std::string_view text, found;
};

class Waits : public ::testing::TestWithParam<Case> {};

TEST_P(Waits, AreMissedWhereTheyAreNeeded) { EXPECT_EQ(found_in(GetParam().arch, GetParam().text), GetParam().found); }

const Case kRdna3[] = {
    {"Load", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nv_add_f32 v4, v1, v1",
     "v1 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"LoadWaitedFor", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\ns_waitcnt vmcnt(0)\nv_add_f32 v4, v1, v1", ""},
    {"OlderLoad", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nglobal_load_b32 v4, v[2:3], off\nv_mov_b32 v5, v1",
     "v1 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(1) before this"},
    {"OlderLoadWaitedFor", Arch::gfx1100,
     "global_load_b32 v1, v[2:3], off\nglobal_load_b32 v4, v[2:3], off\ns_waitcnt vmcnt(1)\nv_mov_b32 v5, v1", ""},
    {"YoungerLoadWithTooWeakAWait", Arch::gfx1100,
     "global_load_b32 v1, v[2:3], off\nglobal_load_b32 v4, v[2:3], off\ns_waitcnt vmcnt(1)\nv_mov_b32 v5, v4",
     "v4 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"StoresDoNotCountAmongLoads", Arch::gfx1100,
     "global_load_b32 v1, v[2:3], off\nglobal_store_b32 v[2:3], v4, off\ns_waitcnt vmcnt(1)\nv_mov_b32 v5, v1",
     "v1 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"DataOfAStoreIsTakenAtOnce", Arch::gfx1100, "global_store_b32 v[2:3], v4, off\nv_mov_b32 v4, 0", ""},
    {"WriteOverALoad", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nv_mov_b32 v1, 0",
     "v1 is written while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"LoadsFillInOrder", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nglobal_load_b32 v1, v[4:5], off", ""},
    {"LoadsOfTwoKindsDoNot", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nds_load_b32 v1, v4",
     "v1 is written while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"HalvesFillInOrder", Arch::gfx1100,
     "global_load_d16_b16 v1, v[2:3], off\nglobal_load_d16_hi_b16 v1, v[4:5], off\ns_waitcnt vmcnt(0)\nv_mov_b32 v2, "
     "v1",
     ""},
    {"AddressFromALoad", Arch::gfx1100, "global_load_b64 v[2:3], v[2:3], off\nglobal_load_b32 v1, v[2:3], off",
     "v[2:3] is read while global_load_b64 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"ScalarLoadsEndInAnyOrder", Arch::gfx1100,
     "s_load_b32 s4, s[0:1], null\ns_load_b32 s5, s[0:1], null\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4",
     "s4 is read while s_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"ScalarLoadWaitedFor", Arch::gfx1100, "s_load_b32 s4, s[0:1], null\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s6, s4", ""},
    {"LocalLoadAmongScalarLoads", Arch::gfx1100,
     "ds_load_b32 v1, v2\ns_load_b32 s4, s[0:1], null\nds_load_b32 v3, v2\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v1", ""},
    {"LocalLoadBehindScalarLoads", Arch::gfx1100,
     "ds_load_b32 v1, v2\ns_load_b32 s4, s[0:1], null\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v4, v1",
     "v1 is read while ds_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"FlatCountsTwice", Arch::gfx1100, "flat_load_b32 v1, v[2:3]\ns_waitcnt vmcnt(0)\nv_mov_b32 v4, v1",
     "v1 is read while flat_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"FlatNotWaitedFor", Arch::gfx1100, "flat_load_b32 v1, v[2:3]\nv_mov_b32 v4, v1",
     "v1 is read while flat_load_b32 may still fill it | s_waitcnt vmcnt(0) lgkmcnt(0) before this"},
    {"FlatWaitedFor", Arch::gfx1100, "flat_load_b32 v1, v[2:3]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v4, v1", ""},
    {"OtherHalfOfALoad", Arch::gfx1100,
     "global_load_d16_hi_b16 v1, v[2:3], off\nds_store_b16 v4, v1\nv_mov_b16 v1.l, v5.h", ""},
    {"LoadsOfBothHalves", Arch::gfx1100, "global_load_d16_b16 v1, v[2:3], off\nds_load_u16_d16_hi v1, v4", ""},
    {"SameHalfOfALoad", Arch::gfx1100, "global_load_d16_hi_b16 v1, v[2:3], off\nds_store_b16_d16_hi v4, v1",
     "v1 is read while global_load_d16_hi_b16 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"SameHalfMoved", Arch::gfx1100, "global_load_d16_hi_b16 v1, v[2:3], off\nv_mov_b16 v4.l, v1.h",
     "v1 is read while global_load_d16_hi_b16 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"WholeOfHalfALoad", Arch::gfx1100, "global_load_d16_hi_b16 v1, v[2:3], off\nds_store_b32 v4, v1",
     "v1 is read while global_load_d16_hi_b16 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"SameHalfWritten", Arch::gfx1100, "global_load_d16_b16 v1, v[2:3], off\nv_mov_b16 v1.l, v5.h",
     "v1 is written while global_load_d16_b16 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"ByteOfALoadedHalf", Arch::gfx1100, "global_load_d16_b16 v1, v[2:3], off\nglobal_store_b8 v[4:5], v1, off",
     "v1 is read while global_load_d16_b16 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"AtomicWithResult", Arch::gfx1100, "global_atomic_add_u32 v1, v[2:3], v4, off glc\nv_mov_b32 v5, v1",
     "v1 is read while global_atomic_add_u32 may still fill it | s_waitcnt vmcnt(0) before this"},
    {"WaitsOfOneCounter", Arch::gfx1100, "ds_load_b32 v1, v2\ns_waitcnt_lgkmcnt null, 0x0\nv_mov_b32 v4, v1", ""},
    {"WaitOfAnotherCounter", Arch::gfx1100, "ds_load_b32 v1, v2\ns_waitcnt_vscnt null, 0x0\nv_mov_b32 v4, v1",
     "v1 is read while ds_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"WaitForAll", Arch::gfx1100, "ds_load_b32 v1, v2\ns_wait_idle\nv_mov_b32 v4, v1", ""},
    {"MessageWithResult", Arch::gfx1100, "s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_TMA)\ns_mov_b32 s5, s4",
     "s4 is read while s_sendmsg_rtn_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"DepctrIsNoWait", Arch::gfx1100, "ds_load_b32 v1, v2\ns_waitcnt_depctr 0x0\nv_mov_b32 v4, v1",
     "v1 is read while ds_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"GlobalShareReadsItsData", Arch::gfx1100, "ds_add_u32 v1, v2 gds\nv_mov_b32 v2, 0",
     "v2 is written while ds_add_u32 may still read it | s_waitcnt lgkmcnt(0) expcnt(0) before this"},
    {"GlobalShareReadsExec", Arch::gfx1100, "ds_add_u32 v1, v2 gds\ns_mov_b32 exec_lo, 0",
     "exec_lo is written while ds_add_u32 may still read it | s_waitcnt lgkmcnt(0) expcnt(0) before this"},
    {"InterpolationWaits", Arch::gfx1100,
     "ds_add_u32 v1, v2 gds\ns_waitcnt lgkmcnt(0)\nv_interp_p2_f32 v2, v3, v4, v5 wait_exp:0\nv_mov_b32 v1, 0", ""},
    {"InterpolationThatDoesNotWait", Arch::gfx1100,
     "ds_add_u32 v1, v2 gds\ns_waitcnt lgkmcnt(0)\nv_interp_p2_f32 v2, v3, v4, v5 wait_exp:7",
     "v2 is written while ds_add_u32 may still read it | s_waitcnt expcnt(0) before this"},
    {"InterpolationThatWaitsForTheFirstOfTwo", Arch::gfx1100,
     "ds_add_u32 v1, v2 gds\nds_add_u32 v1, v3 gds\ns_waitcnt lgkmcnt(0)\nv_interp_p2_f32 v2, v4, v5, v6 wait_exp:1\n"
     "v_mov_b32 v3, 0",
     "v3 is written while ds_add_u32 may still read it | s_waitcnt expcnt(0) before this"},
    {"BarrierBehindALocalStore", Arch::gfx1100, "ds_store_b32 v1, v2\ns_barrier", ""},
    {"BarrierBehindALocalAtomic", Arch::gfx1100, "ds_add_u32 v1, v2\ns_barrier", ""},
    {"LocalLoadBehindABarrier", Arch::gfx1100, "ds_load_b32 v1, v2\ns_barrier\nv_mov_b32 v4, v1",
     "v1 is read while ds_load_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
    {"BarrierBehindAGlobalStore", Arch::gfx1100, "global_store_b32 v[2:3], v4, off\ns_barrier", ""},
    {"EndBehindAStore", Arch::gfx1100, "global_store_b32 v[2:3], v4, off\ns_endpgm", ""},
    {"ReleasedRegisters", Arch::gfx1100, "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\nv_mov_b32 v1, 0",
     "v_mov_b32 uses vector registers after s_sendmsg sendmsg(MSG_DEALLOC_VGPRS) | send the message after the last "
     "use, "
     "before s_endpgm"},
    {"ReleasedWithAGlobalStore", Arch::gfx1100,
     "global_store_b32 v[2:3], v4, off\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm", ""},
    {"ReleasedWithAPrivateStore", Arch::gfx1100,
     "scratch_store_b32 off, v4, s1\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm",
     "vector registers are given back while scratch_store_b32 may still store to private memory | s_waitcnt_vscnt "
     "null, "
     "0x0 before this"},
    {"ReportedOnce", Arch::gfx1100, "global_load_b32 v1, v[2:3], off\nv_mov_b32 v4, v1\nv_mov_b32 v5, v1",
     "v1 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this"},
};
const Case kOthers[] = {
    {"CdnaLoadsWholeRegisters", Arch::gfx942, "global_load_short_d16_hi v1, v[2:3], off\nds_write_b16 v4, v1",
     "v1 is read while global_load_short_d16_hi may still fill it | s_waitcnt vmcnt(0) before this"},
    {"Rdna4OtherHalfOfALoad", Arch::gfx1201, "global_load_d16_hi_b16 v1, v[2:3], off\nds_store_b16 v4, v1", ""},
    {"Rdna4Load", Arch::gfx1201, "global_load_b32 v1, v[2:3], off\nds_load_b32 v4, v5\nv_add_f32 v4, v1, v1",
     "v1 is read while global_load_b32 may still fill it | s_wait_loadcnt 0x0 before this"},
    {"Rdna4LocalLoad", Arch::gfx1201, "ds_load_b32 v4, v5\ns_wait_loadcnt 0x0\nv_mov_b32 v1, v4",
     "v4 is read while ds_load_b32 may still fill it | s_wait_dscnt 0x0 before this"},
    {"Rdna4Combined", Arch::gfx1201,
     "global_load_b32 v1, v[2:3], off\nds_load_b32 v4, v5\ns_wait_loadcnt_dscnt 0x0\nv_add_f32 v6, v1, v4", ""},
    {"Rdna4CombinedOrder", Arch::gfx1201,
     "global_load_b32 v1, v[2:3], off\nds_load_b32 v4, v5\ns_wait_loadcnt_dscnt 0x100\nv_add_f32 v6, v1, v4",
     "v1 is read while global_load_b32 may still fill it | s_wait_loadcnt 0x0 before this"},
    {"Rdna4ScalarLoad", Arch::gfx1201, "s_load_b32 s4, s[0:1], 0x0\ns_wait_dscnt 0x0\ns_mov_b32 s5, s4",
     "s4 is read while s_load_b32 may still fill it | s_wait_kmcnt 0x0 before this"},
    {"Rdna4Flat", Arch::gfx1201, "flat_load_b32 v1, v[2:3]\nv_mov_b32 v4, v1",
     "v1 is read while flat_load_b32 may still fill it | s_wait_loadcnt 0x0 and s_wait_dscnt 0x0 before this"},
    {"Rdna4SplitBarrier", Arch::gfx1201, "ds_store_b32 v1, v2\ns_barrier_signal -1\ns_barrier_wait -1", ""},
    {"CdnaBarrier", Arch::gfx942, "ds_write_b32 v1, v2\ns_barrier", ""},
    {"CdnaLoad", Arch::gfx942, "global_load_dword v1, v[2:3], off\nv_mov_b32_e32 v4, v1",
     "v1 is read while global_load_dword may still fill it | s_waitcnt vmcnt(0) before this"},
    {"CdnaStoresCountAmongLoads", Arch::gfx942,
     "global_load_dword v1, v[2:3], off\nglobal_store_dword v[2:3], v4, off\ns_waitcnt vmcnt(1)\nv_mov_b32_e32 v5, v1",
     ""},
    {"CdnaAccumulator", Arch::gfx942, "global_load_dword a1, v[2:3], off\nv_accvgpr_read_b32 v5, a1",
     "a1 is read while global_load_dword may still fill it | s_waitcnt vmcnt(0) before this"},
    {"CdnaFlatEndsInAnyOrder", Arch::gfx942,
     "flat_load_dword v1, v[2:3]\nflat_load_dword v4, v[2:3]\ns_waitcnt vmcnt(1) lgkmcnt(1)\nv_mov_b32_e32 v5, v1",
     "v1 is read while flat_load_dword may still fill it | s_waitcnt vmcnt(0) lgkmcnt(0) before this"},
    {"CdnaHighBitsOfTheCount", Arch::gfx942,
     "global_load_dword v1, v[2:3], off\ns_waitcnt vmcnt(16)\nv_mov_b32_e32 v5, v1",
     "v1 is read while global_load_dword may still fill it | s_waitcnt vmcnt(0) before this"},
    {"CdnaInvalidationsDoNotCount", Arch::gfx942,
     "global_load_dword v1, v[2:3], off\nbuffer_inv sc1\ns_waitcnt vmcnt(1)\nv_mov_b32_e32 v5, v1",
     "v1 is read while global_load_dword may still fill it | s_waitcnt vmcnt(0) before this"},
    {"CdnaLocalLoads", Arch::gfx90a,
     "ds_read_b32 v1, v2\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(1)\nv_add_f32_e32 v4, v1, v3",
     "v3 is read while ds_read_b32 may still fill it | s_waitcnt lgkmcnt(0) before this"},
};

std::string case_name(const ::testing::TestParamInfo<Case>& which) { return std::string(which.param.name); }
INSTANTIATE_TEST_SUITE_P(Rdna3, Waits, ::testing::ValuesIn(kRdna3), case_name);
INSTANTIATE_TEST_SUITE_P(Others, Waits, ::testing::ValuesIn(kOthers), case_name);

/// The operations that one path and another leave, in the order in which they join.
Outstanding joined(std::string_view one, std::string_view other, bool* changed = nullptr) {
    Outstanding a(Arch::gfx1100), b(Arch::gfx1100);
    EXPECT_TRUE(Path::of(Arch::gfx1100, one).run(a).empty());
    EXPECT_TRUE(Path::of(Arch::gfx1100, other).run(b).empty());
    const bool was_new = a.join(b);
    if (changed) *changed = was_new;
    return a;
}

std::string behind(Outstanding state, std::string_view text) { return told(Path::of(Arch::gfx1100, text).run(state)); }

constexpr std::string_view kTwoLoads = "global_load_b32 v1, v[2:3], off\nglobal_load_b32 v4, v[2:3], off\n";

TEST(WaitsOfPaths, AreNeededForWhatAnyPathLeft) {
    const std::string loads(kTwoLoads), waited = loads + "s_waitcnt vmcnt(0)";
    for (const Outstanding& state : {joined(loads, waited), joined(waited, loads)})
        EXPECT_EQ(behind(state, "v_mov_b32 v5, v4"),
                  "v4 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this");
    EXPECT_EQ(behind(joined(waited, waited), "v_mov_b32 v5, v4"), "");
}

TEST(WaitsOfPaths, TakeTheCountOfThePathWithFewerYoungerOperations) {
    const std::string one = "global_load_b32 v1, v[2:3], off", two(kTwoLoads);
    for (const Outstanding& state : {joined(one, two), joined(two, one)})
        EXPECT_EQ(behind(state, "s_waitcnt vmcnt(1)\nv_mov_b32 v5, v1"),
                  "v1 is read while global_load_b32 may still fill it | s_waitcnt vmcnt(0) before this");
}

TEST(WaitsOfPaths, SayWhetherAPathBroughtAnythingNew) {
    const std::string one = "global_load_b32 v1, v[2:3], off", two(kTwoLoads);
    bool changed = false;
    joined(one, two, &changed);
    EXPECT_TRUE(changed);
    joined(two, two, &changed);
    EXPECT_FALSE(changed);
    joined(two, "s_nop 0", &changed);
    EXPECT_FALSE(changed);
}

TEST(WaitsOfPaths, EndWithACall) {
    Outstanding state = joined(kTwoLoads, kTwoLoads);
    state.settle();
    EXPECT_EQ(behind(state, "v_add_f32 v5, v1, v4"), "");
}

}  // namespace
}  // namespace strata::lint
