#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "strata/asm/emu/scalar_p.h"
#include "strata/asm/emu/workgroup_p.h"

// Branches, calls, waits, barriers, messages and hardware registers (RDNA3 ISA, "Program Flow Control").
namespace strata::emu {

const Op* nop(Wave* wave, const Op* op) { STRATA_EMU_NEXT; }

namespace {

const Op* out_of_budget(Wave* wave, const Op* op, const Op* next) {
    wave->pc = next;
    wave->stop = Stop::budget;
    wave->last = op;
    return nullptr;
}

/// Every backward jump passes here, so that no loop escapes the instruction budget.
#define JUMP(next)                                                                          \
    do {                                                                                    \
        const Op* const to = (next);                                                        \
        end_run(wave, op, to);                                                              \
        if (to <= op && wave->executed >= wave->budget) return out_of_budget(wave, op, to); \
        STRATA_EMU_GOTO(to);                                                                \
    } while (0)

const Op* target(const Op* op) { return op + static_cast<i32>(op->imm); }

const Op* s_branch(Wave* wave, const Op* op) { JUMP(target(op)); }

#define BRANCH(name, condition)                \
    const Op* name(Wave* wave, const Op* op) { \
        if (condition) JUMP(target(op));       \
        STRATA_EMU_NEXT;                       \
    }
BRANCH(s_cbranch_scc0, wave->scc == 0)
BRANCH(s_cbranch_scc1, wave->scc != 0)
BRANCH(s_cbranch_vccz, wave->vcc() == 0)
BRANCH(s_cbranch_vccnz, wave->vcc() != 0)
BRANCH(s_cbranch_execz, wave->exec() == 0)
BRANCH(s_cbranch_execnz, wave->exec() != 0)

/// Jumps through a register: the address is looked up, and decoded if it was not reached before.
const Op* jump_to(Wave* wave, const Op* op, u64 address) {
    const Op* to = code_at(wave, op, address);
    if (!to) return nullptr;
    end_run(wave, op, to);
    if (wave->executed >= wave->budget) return out_of_budget(wave, op, to);
    return to;
}
#define JUMP_TO(address)                                 \
    do {                                                 \
        const Op* const to = jump_to(wave, op, address); \
        if (!to) return nullptr;                         \
        STRATA_EMU_GOTO(to);                             \
    } while (0)

u64 next_pc(const Op* op) { return op->value[2] | u64{op->value[3]} << 32; }

const Op* s_getpc_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->dst, next_pc(op));
    STRATA_EMU_NEXT;
}
const Op* s_setpc_b64(Wave* wave, const Op* op) { JUMP_TO(source<u64>(wave, op, 0)); }
const Op* s_swappc_b64(Wave* wave, const Op* op) {
    const u64 to_address = source<u64>(wave, op, 0);
    put<u64>(wave, op->dst, next_pc(op));
    JUMP_TO(to_address);
}
const Op* s_call_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->dst, next_pc(op));
    JUMP(target(op));
}

const Op* s_endpgm(Wave* wave, const Op* op) { return leave(wave, op, nullptr, Stop::end); }
const Op* s_barrier(Wave* wave, const Op* op) { return leave(wave, op, op + 1, Stop::barrier); }
/// A wait for vector memory: on hardware another wave runs now; here too, so that waves walk through memory together.
const Op* wait(Wave* wave, const Op* op) { return leave(wave, op, op + 1, Stop::wait); }

const Op* s_trap(Wave* wave, const Op* op) {
    if (op->imm == 3) STRATA_EMU_NEXT;  // debug trap: nothing is attached
    return fail(wave, op, fmt::format("the kernel stopped itself (trap {}: abort or __builtin_trap)", op->imm));
}
const Op* s_sethalt(Wave* wave, const Op* op) {
    if ((op->imm & 1) == 0) STRATA_EMU_NEXT;
    return fail(wave, op, "the kernel halted its wave");
}

const Op* s_round_mode(Wave* wave, const Op* op) {
    wave->mode = (wave->mode & ~15u) | (op->imm & 15);
    STRATA_EMU_NEXT;
}
const Op* s_denorm_mode(Wave* wave, const Op* op) {
    wave->mode = (wave->mode & ~0xf0u) | (op->imm & 15) << 4;
    STRATA_EMU_NEXT;
}

// Hardware registers; simm16 holds id[5:0], offset[10:6], size-1[15:11].
enum HwReg : u32 { kMode = 1, kStatus = 2, kLdsAlloc = 6, kShMemBases = 15, kHwId1 = 23, kShaderCycles = 29 };

u32 hardware_register(const Wave* wave, const Op* op) {
    u64 now = wave->executed + op->index - wave->run_start->index;
    switch (op->imm & 63) {
        case kMode: return wave->mode;
        case kStatus: return wave->scc | u32{wave->exec() == 0} << 9 | u32{wave->vcc() == 0} << 10;
        case kLdsAlloc: return (wave->lds_size + 511) / 512 << 12;
        case kShMemBases: return kPrivateAperture >> 16 | (kSharedAperture >> 16) << 16;
        case kHwId1: return wave->wave_in_group & 31;
        case kShaderCycles: return static_cast<u32>(now) & 0xfffff;
        default: return 0;
    }
}
u32 field_mask(u32 imm) { return static_cast<u32>((2ull << (imm >> 11 & 31)) - 1); }

const Op* s_getreg_b32(Wave* wave, const Op* op) {
    put<u32>(wave, op->dst, hardware_register(wave, op) >> (op->imm >> 6 & 31) & field_mask(op->imm));
    STRATA_EMU_NEXT;
}
const Op* s_setreg_b32(Wave* wave, const Op* op) {
    if ((op->imm & 63) == kMode) {
        u32 shift = op->imm >> 6 & 31, mask = field_mask(op->imm) << shift;
        wave->mode = (wave->mode & ~mask) | (source<u32>(wave, op, 0) << shift & mask);
    }
    STRATA_EMU_NEXT;
}

/// Messages that answer: the real-time counter counts instructions (about 24 a tick of 100 MHz), others answer 0.
constexpr u32 kGetRealtime = 0x83;
u64 message(const Wave* wave, const Op* op) {
    return (op->imm & 0xff) == kGetRealtime ? (wave->executed + op->index - wave->run_start->index) / 24 : 0;
}
const Op* s_sendmsg_rtn_b32(Wave* wave, const Op* op) {
    put<u32>(wave, op->dst, static_cast<u32>(message(wave, op)));
    STRATA_EMU_NEXT;
}
const Op* s_sendmsg_rtn_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->dst, message(wave, op));
    STRATA_EMU_NEXT;
}

// Hints and events without meaning here: nothing to wait for, prefetch or trace.
constexpr std::string_view kHints[] = {
    "s_nop",
    "s_set_inst_prefetch_distance",
    "s_clause",
    "s_delay_alu",
    "s_waitcnt_depctr",
    "s_wait_idle",
    "s_wait_event",
    "s_code_end",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
    "s_wakeup",
    "s_setprio",
    "s_sendmsg",
    "s_incperflevel",
    "s_decperflevel",
    "s_ttracedata",
    "s_ttracedata_imm",
    "s_icache_inv",
    "s_version",
    "s_waitcnt_vscnt",
    "s_waitcnt_expcnt",
    "s_waitcnt_lgkmcnt",
    "s_gl1_inv",
    "s_dcache_inv",
};
constexpr NamedHandler kControl[] = {
    {"s_branch", s_branch},
    {"s_cbranch_scc0", s_cbranch_scc0},
    {"s_cbranch_scc1", s_cbranch_scc1},
    {"s_cbranch_vccz", s_cbranch_vccz},
    {"s_cbranch_vccnz", s_cbranch_vccnz},
    {"s_cbranch_execz", s_cbranch_execz},
    {"s_cbranch_execnz", s_cbranch_execnz},
    {"s_getpc_b64", s_getpc_b64},
    {"s_setpc_b64", s_setpc_b64},
    {"s_swappc_b64", s_swappc_b64},
    {"s_call_b64", s_call_b64},
    {"s_endpgm", s_endpgm},
    {"s_endpgm_saved", s_endpgm},
    {"s_barrier", s_barrier},
    {"s_sleep", wait},
    {"s_waitcnt_vmcnt", wait},
    {"s_trap", s_trap},
    {"s_sethalt", s_sethalt},
    {"s_round_mode", s_round_mode},
    {"s_denorm_mode", s_denorm_mode},
    {"s_getreg_b32", s_getreg_b32},
    {"s_setreg_b32", s_setreg_b32},
    {"s_setreg_imm32_b32", s_setreg_b32},
    {"s_sendmsg_rtn_b32", s_sendmsg_rtn_b32},
    {"s_sendmsg_rtn_b64", s_sendmsg_rtn_b64},
};

}  // namespace

Handler choose_control(const Choice& choice) {
    std::string_view mnemonic = choice.name;
    if (mnemonic == "s_waitcnt")  // vmcnt is bits 15:10; 63 waits for nothing
        return (choice.inst.offset >> 10 & 63) != 63 ? wait : nop;
    if (std::ranges::find(kHints, mnemonic) != std::end(kHints)) return nop;
    auto it = std::ranges::find(kControl, mnemonic, &NamedHandler::mnemonic);
    return it != std::end(kControl) ? it->run : nullptr;
}

Handler choose_scalar(const Choice& choice) {
    if (choice.inst.row->format == isa::Format::SMEM) {
        Handler run = choose_smem(choice);
        return run ? run : choose_control(choice);
    }
    Handler run = choose_sop(choice);
    return run ? run : choose_control(choice);
}

}  // namespace strata::emu
