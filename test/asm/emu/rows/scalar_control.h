#pragma once
#include <bit>
#include <map>

#include "scalar_harness.h"

// Scalar rows that are more than a function of their sources. They are branches, program counter, moves by M0, the
// mode, and rows that a lone wave does not notice.
namespace strata::emu::harness {

using ControlCheck = void (*)(ScalarRun&, const isa::Row&);

namespace control {

/// Runs [s_branch to the middle][s_endpgm: backward target] ... [inst][s_endpgm: not taken] ... [s_endpgm: forward].
/// Returns where it ended relative to the branch: -1 backward, 0 after it, 1 forward.
inline int taken(ScalarRun& run, isa::Inst inst, ScalarState& state, bool forward) {
    constexpr uint32_t kMiddle = 6, kForward = 9;
    inst.offset = forward ? kForward - kMiddle - 1 : 1 - static_cast<int>(kMiddle) - 1;
    isa::Inst start = run.make("s_branch");
    start.offset = kMiddle - 1;
    std::vector<isa::Inst> code(kForward + 1, run.make("s_endpgm"));
    code[0] = start, code[kMiddle] = inst;
    auto done = run.run(run.words(code), state);
    EXPECT_TRUE(done) << inst.row->mnemonic << ": " << done.error().message;
    return run.pc == 4 ? -1 : run.pc == 4 * kForward ? 1 : run.pc == 4 * (kMiddle + 1) ? 0 : -2;
}

inline void branch(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(5);
    const std::string_view name = row.mnemonic;
    for (int i = 0; i < 24; ++i) {
        ScalarState state = values.state(run.registers());
        if (i & 1) state.set_pair(106, i & 2 ? 0 : 1ull << values.below(static_cast<uint32_t>(run.lanes())));
        if (i & 4) state.set_pair(126, i & 8 ? 0 : 1ull << values.below(static_cast<uint32_t>(run.lanes())));
        if (run.lanes() == 32) state.s[107] = state.s[127] = 0;
        const bool vccz = state.pair(106) == 0, execz = state.pair(126) == 0;
        const bool takes = name == "s_branch"           ? true
                           : name == "s_cbranch_scc0"   ? !state.scc
                           : name == "s_cbranch_scc1"   ? state.scc
                           : name == "s_cbranch_vccz"   ? vccz
                           : name == "s_cbranch_vccnz"  ? !vccz
                           : name == "s_cbranch_execz"  ? execz
                           : name == "s_cbranch_execnz" ? !execz
                                                        : false;  // no debugger sets COND_DBG_SYS or COND_DBG_USER
        const ScalarState before = state;
        const bool forward = values.below(2);
        ASSERT_EQ(taken(run, run.make(row), state, forward), takes ? forward ? 1 : -1 : 0) << name << " " << before.scc;
        ASSERT_EQ(run.difference(state, before), "") << name;
    }
}

inline uint64_t code_address(ScalarRun& run) {
    ScalarState state;
    isa::Inst inst = run.make("s_getpc_b64");
    inst.dst[0] = {10, isa::Type::b64};
    auto done = run.run(std::vector{inst}, state);
    EXPECT_TRUE(done) << done.error().message;
    return state.pair(10) - 4;
}

inline void get_pc(ScalarRun& run, const isa::Row& row) {
    ScalarState state;
    std::vector<isa::Inst> code(4, run.make("s_nop"));
    for (size_t i : {1u, 3u}) {
        code[i] = run.make(row);
        code[i].dst[0] = {static_cast<uint16_t>(10 + 2 * i), isa::Type::b64};
    }
    auto done = run.run(code, state);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(state.pair(16) - state.pair(12), 8u);
    EXPECT_EQ(state.pair(12) - code_address(run), 8u);
}

/// s_setpc, s_swappc and s_rfe jump to an address, s_call over a distance; those with a destination keep the way back.
inline void jump(ScalarRun& run, const isa::Row& row) {
    const uint64_t base = code_address(run);
    for (uint32_t target : {2u, 5u}) {
        ScalarValues values(target);
        ScalarState state = values.state(run.registers());
        isa::Inst inst = run.make(row);
        if (row.src_kind[0]) {
            inst.src[0] = {20, isa::Type::b64};
            state.set_pair(20, base + 4 * target);
        } else {
            inst.offset = static_cast<int32_t>(target) - 1;
        }
        if (row.src_kind[1]) inst.src[1] = {isa::code::inline_zero, row.src[1]};  // of address translation
        ScalarState want = state;
        if (row.dst_kind[0]) {
            inst.dst[0] = {30, isa::Type::b64};
            want.set_pair(30, base + 4);
        }
        std::vector<isa::Inst> code(6, run.make("s_endpgm"));
        code[0] = inst;
        auto done = run.run(run.words(code), state);
        ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
        EXPECT_EQ(run.pc, 4 * target) << row.mnemonic;
        EXPECT_EQ(run.difference(state, want), "") << row.mnemonic;
    }
}

inline void relative_move(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(9);
    const std::string_view name = row.mnemonic;
    const bool wide = row.dst[0] == isa::Type::b64, both = name == "s_movrelsd_2_b32";
    const bool from = both || name.find("movrels") != name.npos, to = both || name.find("movreld") != name.npos;
    for (int i = 0; i < 20; ++i) {
        ScalarState state = values.state(run.registers());
        const uint32_t step = wide ? 2 : 1;
        const uint32_t a = values.below(20) * step, b = values.below(10) * step;
        state.s[125] = both ? a | b << 16 | (values.below(2) << 10) : a;
        isa::Inst inst = run.make(row);
        const uint32_t src = 10 + values.below(10) * 2, dst = 50 + values.below(10) * 2;
        inst.src[0] = {static_cast<uint16_t>(src), row.src[0]};
        inst.dst[0] = {static_cast<uint16_t>(dst), row.dst[0]};
        ScalarState want = state;
        const uint32_t source = src + (from ? a : 0), target = dst + (both ? b : to ? a : 0);
        want.s[target] = state.s[source];
        if (wide) want.s[target + 1] = state.s[source + 1];
        auto done = run.run(std::vector{inst}, state);
        ASSERT_TRUE(done) << name << ": " << done.error().message;
        ASSERT_EQ(run.difference(state, want), "") << name << " m0 " << want.s[125];
    }
}

/// hwreg(HW_REG_MODE, offset, size) as the 16-bit immediate.
inline int32_t mode_field(uint32_t offset, uint32_t size) {
    return static_cast<int16_t>(1 | offset << 6 | (size - 1) << 11);
}
/// Runs `inst` and then reads the low byte of MODE: the rounding and denormal fields.
inline uint32_t mode_after(ScalarRun& run, const isa::Inst& inst, ScalarState& state) {
    isa::Inst get = run.make("s_getreg_b32");
    get.dst[0] = {40, isa::Type::b32};
    get.offset = mode_field(0, 8);
    auto done = run.run(std::vector{inst, get}, state);
    EXPECT_TRUE(done) << inst.row->mnemonic << ": " << done.error().message;
    return state.s[40];
}

inline void get_mode(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(11);
    for (int i = 0; i < 20; ++i) {
        ScalarState state = values.state(run.registers());
        state.mode = values.below(256);
        const uint32_t offset = values.below(8), size = 1 + values.below(8 - offset);
        isa::Inst inst = run.make(row);
        inst.dst[0] = {12, isa::Type::b32};
        inst.offset = mode_field(offset, size);
        ScalarState want = state;
        want.s[12] = state.mode >> offset & ((1u << size) - 1);
        auto done = run.run(std::vector{inst}, state);
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_EQ(run.difference(state, want), "") << "offset " << offset << " size " << size << " mode " << want.mode;
    }
}

inline void set_mode(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(12);
    const std::string_view name = row.mnemonic;
    for (int i = 0; i < 20; ++i) {
        ScalarState state = values.state(run.registers());
        state.mode = values.below(256);
        uint32_t offset = values.below(8), size = 1 + values.below(8 - offset), value = values.any32();
        isa::Inst inst = run.make(row);
        if (name == "s_round_mode" || name == "s_denorm_mode") {
            offset = name == "s_round_mode" ? 0 : 4, size = 4, value &= 15;
            inst.offset = static_cast<int32_t>(value);
        } else {
            inst.offset = mode_field(offset, size);
            const bool immediate = row.flags & isa::kLiteral;
            inst.src[0] = {immediate ? isa::code::literal : uint16_t{14}, isa::Type::b32};
            (immediate ? inst.literal : state.s[14]) = value;
        }
        const uint32_t mask = ((1u << size) - 1) << offset;
        const uint32_t want = (state.mode & ~mask) | (value << offset & mask);
        ASSERT_EQ(mode_after(run, inst, state), want) << name << " offset " << offset << " size " << size;
    }
}

/// Nothing of the state changes and the next instruction runs.
inline void nothing(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(13);
    const bool zero = row.mnemonic == "s_sethalt" || row.mnemonic == "s_setkill";
    for (int i = 0; i < 4; ++i) {
        ScalarState state = values.state(run.registers());
        if (run.lanes() == 32) state.s[127] = 0;
        ScalarState want = state;
        isa::Inst inst = run.make(row), mark = run.make("s_mov_b32");
        if (row.modifiers & isa::mod::simm && !zero) inst.offset = static_cast<int16_t>(i ? values.below(4) : 0);
        if (row.src_kind[0]) inst.src[0] = {run.cdna() ? uint16_t{10} : isa::code::null, row.src[0]};
        if (row.mnemonic == "s_sleep_var") inst.src[0] = {isa::code::inline_zero, row.src[0]};
        mark.dst[0] = {50, isa::Type::b32}, mark.src[0] = {60, isa::Type::b32};
        want.s[50] = want.s[60];
        auto done = run.run(std::vector{inst, mark}, state);
        ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
        ASSERT_EQ(run.difference(state, want), "") << row.mnemonic;
    }
}

/// The wave goes no further and the run says so.
inline void stop(ScalarRun& run, const isa::Row& row) {
    ScalarState state;
    auto done = run.run(std::vector{run.make(row)}, state);
    ASSERT_FALSE(done) << row.mnemonic;
    EXPECT_NE(done.error().message.find(row.mnemonic), std::string::npos) << done.error().message;
}

/// The clock of MSG_RTN_GET_REALTIME does not run backward; nothing but the destination changes.
inline void message(ScalarRun& run, const isa::Row& row) {
    ScalarValues values(14);
    ScalarState state = values.state(run.registers());
    if (run.lanes() == 32) state.s[127] = 0;
    std::vector<isa::Inst> code(2, run.make(row));
    const bool wide = row.dst[0] == isa::Type::b64;
    for (size_t i = 0; i < 2; ++i) {
        code[i].dst[0] = {static_cast<uint16_t>(10 + 2 * i), row.dst[0]};
        code[i].offset = 0x83;
    }
    ScalarState want = state;
    auto done = run.run(code, state);
    ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
    EXPECT_LE(wide ? state.pair(10) : state.s[10], wide ? state.pair(12) : state.s[12]);
    EXPECT_LT(wide ? state.pair(12) : state.s[12], 1000000u);  // ticks of a run that began just now
    for (size_t i = 10; i < (wide ? 14u : 11u); ++i) want.s[i] = state.s[i];
    want.s[12] = state.s[12];
    EXPECT_EQ(run.difference(state, want), "") << row.mnemonic;
}

/// Lanes of the mask go to the target, the others on; the smaller set first, the other is put on the stack in SGPRs.
inline void fork(ScalarRun& run, const isa::Row& row) {
    const uint64_t base = code_address(run);
    const uint64_t masks[][2] = {{~0ull, 0xff}, {0, 0xff}, {0x0f, 0xfff}, {0xfff, 0xffff}, {0x3, 0xf}};
    for (auto [mask, exec] : masks) {
        constexpr uint32_t kTarget = 3;
        ScalarValues values(mask);
        ScalarState state = values.state(run.registers());
        isa::Inst inst = run.make(row);
        inst.src[0] = {20, isa::Type::b64};
        state.set_pair(20, mask), state.set_pair(126, exec);
        if (row.src_kind[1]) {
            inst.src[1] = {22, isa::Type::b64};
            state.set_pair(22, base + 4 * kTarget);
        } else {
            inst.offset = kTarget - 1;
        }
        ScalarState want = state;
        const uint64_t pass = mask & exec, fail = ~mask & exec;
        bool jumps = pass == exec;
        if (pass && fail) {
            jumps = std::popcount(fail) >= std::popcount(pass);
            want.set_pair(0, jumps ? base + 4 : base + 4 * kTarget);
            want.set_pair(2, jumps ? fail : pass);
            want.set_pair(126, jumps ? pass : fail);
        }
        std::vector<isa::Inst> code(kTarget + 1, run.make("s_endpgm"));
        code[0] = inst;
        auto done = run.run(run.words(code), state);
        ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
        EXPECT_EQ(run.pc, jumps ? 4 * kTarget : 4) << row.mnemonic << " mask " << mask;
        EXPECT_EQ(run.difference(state, want), "") << row.mnemonic << " mask " << mask;
    }
}

/// The wave ends here.
inline void end(ScalarRun& run, const isa::Row& row) {
    ScalarState state;
    isa::Inst after = run.make("s_mov_b32");
    after.dst[0] = {50, isa::Type::b32}, after.src[0] = {isa::code::inline_zero + 1, isa::Type::b32};
    auto done = run.run(std::vector{run.make(row), after}, state);
    ASSERT_TRUE(done) << row.mnemonic << ": " << done.error().message;
    EXPECT_EQ(run.pc, 0u) << row.mnemonic;
    EXPECT_EQ(state.s[50], 0u) << row.mnemonic;
}

/// Instructions that do nothing here.
constexpr const char* kNothing[] = {"s_nop",
                                    "s_sleep",
                                    "s_sleep_var",
                                    "s_setprio",
                                    "s_waitcnt",
                                    "s_waitcnt_vscnt",
                                    "s_waitcnt_vmcnt",
                                    "s_waitcnt_expcnt",
                                    "s_waitcnt_lgkmcnt",
                                    "s_waitcnt_depctr",
                                    "s_wait_alu",
                                    "s_wait_idle",
                                    "s_wait_event",
                                    "s_wait_loadcnt",
                                    "s_wait_storecnt",
                                    "s_wait_samplecnt",
                                    "s_wait_bvhcnt",
                                    "s_wait_expcnt",
                                    "s_wait_dscnt",
                                    "s_wait_kmcnt",
                                    "s_wait_loadcnt_dscnt",
                                    "s_wait_storecnt_dscnt",
                                    "s_clause",
                                    "s_delay_alu",
                                    "s_singleuse_vdst",
                                    "s_set_inst_prefetch_distance",
                                    "s_incperflevel",
                                    "s_decperflevel",
                                    "s_ttracedata",
                                    "s_ttracedata_imm",
                                    "s_icache_inv",
                                    "s_wakeup",
                                    "s_sethalt",
                                    "s_setkill",
                                    "s_version",
                                    "s_barrier",
                                    "s_set_gpr_idx_off",
                                    "s_code_end"};

}  // namespace control

inline const std::map<std::string, ControlCheck, std::less<>>& control_checks() {
    static const auto all = [] {
        std::map<std::string, ControlCheck, std::less<>> checks;
        auto add = [&](ControlCheck check, std::initializer_list<const char*> names) {
            for (const char* name : names) checks[name] = check;
        };
        add(control::branch, {"s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz",
                              "s_cbranch_execz", "s_cbranch_execnz", "s_cbranch_cdbgsys", "s_cbranch_cdbguser",
                              "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"});
        add(control::get_pc, {"s_getpc_b64"});
        add(control::jump, {"s_setpc_b64", "s_swappc_b64", "s_rfe_b64", "s_rfe_restore_b64", "s_call_b64"});
        add(control::relative_move,
            {"s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64", "s_movrelsd_2_b32"});
        add(control::get_mode, {"s_getreg_b32"});
        add(control::set_mode, {"s_setreg_b32", "s_setreg_imm32_b32", "s_round_mode", "s_denorm_mode"});
        add(control::end, {"s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"});
        add(control::stop, {"s_sendmsghalt"});
        add(control::message, {"s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"});
        add(control::fork, {"s_cbranch_g_fork", "s_cbranch_i_fork"});
        for (const char* name : control::kNothing) checks[name] = control::nothing;
        return checks;
    }();
    return all;
}

/// Rows that need more than one instruction or one wave, and the tests that have them.
inline const std::map<std::string, std::string, std::less<>>& scalar_rows_of_other_tests() {
    static const char kRegisters[] = "Gfx9Scalars.RegisterIndexingAddsM0ToTheSelectedOperands";
    static const char kForks[] = "Gfx9Scalars.ForksRunBothPathsAndJoin";
    static const char kBarriers[] = "Gfx12Scalars.ALoneWavePassesItsSplitBarrierOnceForEachSignal";
    static const char kLoop[] = "Gfx11Scalars.ASubvectorLoopRunsOnceForEachHalfWithLanes";
    static const std::map<std::string, std::string, std::less<>> all = {
        {"s_set_gpr_idx_on", kRegisters},
        {"s_set_gpr_idx_idx", kRegisters},
        {"s_set_gpr_idx_mode", kRegisters},
        {"s_cbranch_join", kForks},
        {"s_setvskip", "Gfx9Scalars.VskipLeavesVectorInstructionsOut"},
        {"s_subvector_loop_begin", kLoop},
        {"s_subvector_loop_end", kLoop},
        {"s_barrier_signal", kBarriers},
        {"s_barrier_signal_isfirst", kBarriers},
        {"s_barrier_wait", kBarriers},
        {"s_get_barrier_state", kBarriers},
        {"s_sendmsg", "Gfx11Scalars.VectorRegistersGivenBackMayNotBeUsed"},
        {"s_trap", "Faults"},
    };
    return all;
}

}  // namespace strata::emu::harness
