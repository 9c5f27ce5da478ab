#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/scalar/scalar.h"

// Branches, calls, waits, ends and hints (RDNA3 ISA, "Program Flow Control").
namespace strata::emu {

const Op* out_of_budget(Wave* wave, const Op* op, const Op* next) {
    wave->pc = next;
    wave->stop = Stop::budget;
    wave->last = op;
    return nullptr;
}

const Op* jump_to(Wave* wave, const Op* op, u64 address) {
    const Op* to = code_at(wave, op, address);
    if (!to) return nullptr;
    end_run(wave, op, to);
    if (wave->executed >= wave->budget) return out_of_budget(wave, op, to);
    return to;
}

namespace {

/// Every backward jump passes here, so that no loop escapes the instruction budget.
#define JUMP(next)                                                                          \
    do {                                                                                    \
        const Op* const to = (next);                                                        \
        end_run(wave, op, to);                                                              \
        if (to <= op && wave->executed >= wave->budget) return out_of_budget(wave, op, to); \
        STRATA_EMU_GOTO(to);                                                                \
    } while (0)

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

#define JUMP_TO(address)                                 \
    do {                                                 \
        const Op* const to = jump_to(wave, op, address); \
        if (!to) return nullptr;                         \
        STRATA_EMU_GOTO(to);                             \
    } while (0)

const Op* s_getpc_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->scalar().dst, op->scalar().after);
    STRATA_EMU_NEXT;
}
const Op* s_setpc_b64(Wave* wave, const Op* op) { JUMP_TO(source<u64>(wave, op, 0)); }
const Op* s_swappc_b64(Wave* wave, const Op* op) {
    const u64 to_address = source<u64>(wave, op, 0);
    put<u64>(wave, op->scalar().dst, op->scalar().after);
    JUMP_TO(to_address);
}
const Op* s_call_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->scalar().dst, op->scalar().after);
    JUMP(target(op));
}

const Op* s_sleep(Wave* wave, const Op* op) { return leave(wave, op, op + 1, Stop::sleep); }

const Op* s_endpgm(Wave* wave, const Op* op) { return leave(wave, op, nullptr, Stop::end); }

const Op* s_trap(Wave* wave, const Op* op) {
    if (op->scalar().imm == 3) STRATA_EMU_NEXT;  // debug trap: nothing is attached
    return fail(wave, op,
                fmt::format("the kernel stopped itself (trap {}: abort or __builtin_trap)", op->scalar().imm));
}
const Op* s_sethalt(Wave* wave, const Op* op) {
    if ((op->scalar().imm & 1) == 0) STRATA_EMU_NEXT;
    return fail(wave, op, "the kernel halted its wave");
}

const Op* s_sendmsghalt(Wave* wave, const Op* op) { return fail(wave, op, "the kernel halted its wave"); }
const Op* s_setkill(Wave* wave, const Op* op) {
    if ((op->scalar().imm & 1) == 0) STRATA_EMU_NEXT;
    return leave(wave, op, nullptr, Stop::end);
}

/// Message 3 of GFX11 on gives the vector registers back.
constexpr u32 kDeallocVgprs = 3;
const Op* dealloc_vgprs(Wave* wave, const Op* op) {
    const uint64_t user = op->release().user;
    if (user == ReleaseFields::kNobody) STRATA_EMU_NEXT;
    return fail(
        wave, op,
        fmt::format("the wave gives its vector registers back (MSG_DEALLOC_VGPRS), but the instruction at offset "
                    "{:#x} uses them",
                    user));
}

// Hints and events without meaning here: nothing to wait for, prefetch or trace.
constexpr std::string_view kHints[] = {
    "s_nop",
    "s_sendmsg",
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
    "s_incperflevel",
    "s_decperflevel",
    "s_ttracedata",
    "s_ttracedata_imm",
    "s_icache_inv",
    "s_version",
    "s_waitcnt_vscnt",
    "s_waitcnt_expcnt",
    "s_waitcnt_lgkmcnt",
    "s_wait_alu",
    "s_wait_storecnt",
    "s_wait_storecnt_dscnt",
    "s_wait_samplecnt",
    "s_wait_bvhcnt",
    "s_wait_expcnt",
    "s_wait_dscnt",
    "s_wait_kmcnt",
    "s_singleuse_vdst",
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
    {"s_endpgm_ordered_ps_done", s_endpgm},
    {"s_rfe_b64", s_setpc_b64},
    {"s_rfe_restore_b64", s_setpc_b64},  // its second source is a mode of address translation
    {"s_sleep", s_sleep},
    {"s_sleep_var", s_sleep},
    {"s_waitcnt_vmcnt", wait_for_loads},
    {"s_wait_loadcnt", wait_for_loads},
    {"s_wait_loadcnt_dscnt", wait_for_loads},
    {"s_trap", s_trap},
    {"s_sethalt", s_sethalt},
    {"s_sendmsghalt", s_sendmsghalt},
    {"s_setkill", s_setkill},
};

/// True if an s_waitcnt waits for vector memory (all ones in vmcnt: it does not). vmcnt is bits 15:10 of RDNA3, and
/// bits 15:14 and 3:0 of gfx9.
bool waits_for_memory(const Decoded& decoded) {
    const auto simm = static_cast<u32>(decoded.inst.offset);
    const bool gfx9 = is_cdna(decoded.family());
    return (gfx9 ? (simm & 15) | (simm >> 14 & 3) << 4 : simm >> 10 & 63) != 63;
}

bool deallocates(const Decoded& decoded) {
    const bool rdna = decoded.family() == isa::Family::rdna3 || decoded.family() == isa::Family::rdna4;
    return rdna && (decoded.inst.offset & 0xff) == kDeallocVgprs;
}

}  // namespace

Handler choose_control(const Decoded& decoded) {
    std::string_view mnemonic = decoded.name;
    if (mnemonic == "s_waitcnt") return waits_for_memory(decoded) ? wait_for_loads : nop;
    if (std::ranges::find(kHints, mnemonic) != std::end(kHints)) return nop;
    auto it = std::ranges::find(kControl, mnemonic, &NamedHandler::mnemonic);
    return it != std::end(kControl) ? it->run : nullptr;
}

std::optional<Op> choose_scalar(const Decoded& decoded) {
    if (decoded.name == "s_sendmsg" && deallocates(decoded)) return Op(dealloc_vgprs, ReleaseFields{});
    using HandlerChooser = Handler (*)(const Decoded&);
    constexpr HandlerChooser kChoosers[] = {choose_sop,  choose_control, choose_mode,
                                            choose_fork, choose_barrier, choose_salu_float};
    for (HandlerChooser chooser : kChoosers)
        if (Handler run = chooser(decoded)) return Op(run, resolve_scalar(decoded));
    return {};
}

}  // namespace strata::emu
