#include <algorithm>
#include <utility>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/scalar/scalar.h"

// Modes, hardware registers, messages that answer, clocks (RDNA3 ISA, "Wave State"; CDNA3 ISA, "Hardware Registers";
// RDNA4 ISA, "Hardware Registers"). Clocks count the wave's instructions; the real-time clock ticks once in 24 of them,
// which is about 100 MHz.
namespace strata::emu {
namespace {

constexpr u64 kInstructionsPerTick = 24;
constexpr u32 kLdsGranule = 512;  // bytes

const Op* s_round_mode(Wave* wave, const Op* op) {
    wave->mode = (wave->mode & ~15u) | (op->scalar().imm & 15);
    STRATA_EMU_NEXT;
}
const Op* s_denorm_mode(Wave* wave, const Op* op) {
    wave->mode = (wave->mode & ~0xf0u) | (op->scalar().imm & 15) << 4;
    STRATA_EMU_NEXT;
}

/// Reads the hardware register that a number of s_getreg names.
using Register = u32 (*)(const Wave*, const Op*);
struct NamedRegister {
    u32 id;
    Register read;
};

u32 mode(const Wave* wave, const Op*) { return wave->mode; }
u32 mode_of_gfx12(const Wave* wave, const Op*) { return wave->mode & ~kFixedOnGfx12; }
u32 status_without_scc(const Wave* wave, const Op*) {
    return u32{wave->exec() == 0} << 9 | u32{wave->vcc() == 0} << 10 | u32{wave->group->waves > 1} << 11;
}
u32 status(const Wave* wave, const Op* op) { return status_without_scc(wave, op) | (wave->scc & 1); }
u32 state_priv(const Wave* wave, const Op*) {
    return u32{wave->group->completed != wave->barriers_passed} << 2 | (wave->scc & 1) << 9;
}
u32 lds_alloc(const Wave* wave, const Op*) { return (wave->lds_size + kLdsGranule - 1) / kLdsGranule << 12; }
u32 aperture_bases(const Wave*, const Op*) { return kPrivateAperture >> 16 | (kSharedAperture >> 16) << 16; }
u32 wave_id(const Wave* wave, const Op*) { return wave->wave_in_group & 31; }
u32 wave_id_of_gfx9(const Wave* wave, const Op*) {
    return (wave->wave_in_group / 4 & 15) | (wave->wave_in_group & 3) << 4;  // wave slot, SIMD
}
u32 shader_cycles(const Wave* wave, const Op* op) { return static_cast<u32>(clock_of(wave, op)) & 0xfffff; }
u32 shader_cycles_low(const Wave* wave, const Op* op) { return static_cast<u32>(clock_of(wave, op)); }
u32 shader_cycles_high(const Wave* wave, const Op* op) { return static_cast<u32>(clock_of(wave, op) >> 32); }

constexpr u32 kMode = 1;
// Numbers: AMDGPUUsage and LLVM's names of hwreg(). Registers not listed (trap state, debug data) read 0.
constexpr NamedRegister kGfx9[] = {
    {kMode, mode}, {2, status}, {4, wave_id_of_gfx9}, {6, lds_alloc}, {15, aperture_bases}};
constexpr NamedRegister kGfx11[] = {{kMode, mode},        {2, status},   {6, lds_alloc},
                                    {15, aperture_bases}, {23, wave_id}, {29, shader_cycles}};
constexpr NamedRegister kGfx12[] = {{kMode, mode_of_gfx12},  {2, status_without_scc}, {4, state_priv},
                                    {6, lds_alloc},          {23, wave_id},           {29, shader_cycles_low},
                                    {30, shader_cycles_high}};

// simm16 holds id[5:0], offset[10:6], size-1[15:11].
u32 field_mask(u32 imm) { return static_cast<u32>((2ull << (imm >> 11 & 31)) - 1); }

template <const auto& list, size_t i>
const Op* getreg(Wave* wave, const Op* op) {
    put<u32>(wave, op->scalar().dst,
             list[i].read(wave, op) >> (op->scalar().imm >> 6 & 31) & field_mask(op->scalar().imm));
    STRATA_EMU_NEXT;
}
const Op* getreg_zero(Wave* wave, const Op* op) {
    put<u32>(wave, op->scalar().dst, 0);
    STRATA_EMU_NEXT;
}
template <const auto& list, size_t... i>
Handler pick_getreg(u32 id, std::index_sequence<i...>) {
    Handler run = getreg_zero;
    ((list[i].id == id ? (void)(run = getreg<list, i>) : (void)0), ...);
    return run;
}

template <u32 writable>
const Op* setreg_mode(Wave* wave, const Op* op) {
    const u32 shift = op->scalar().imm >> 6 & 31, mask = field_mask(op->scalar().imm) << shift & writable;
    wave->mode = (wave->mode & ~mask) | (source<u32>(wave, op, 0) << shift & mask);
    STRATA_EMU_NEXT;
}
/// gfx9: register indexing and VSKIP have instructions of their own, which are seen when the code is decoded.
const Op* setreg_mode_gfx9(Wave* wave, const Op* op) {
    const u32 shift = op->scalar().imm >> 6 & 31, mask = field_mask(op->scalar().imm) << shift;
    const u32 changed = (wave->mode & ~mask) | (source<u32>(wave, op, 0) << shift & mask);
    if ((changed ^ wave->mode) & (kGprIndex | kVskip))
        return fail(wave, op, "GPR_IDX_EN and VSKIP can be changed only by s_set_gpr_idx_* and s_setvskip");
    wave->mode = changed;
    STRATA_EMU_NEXT;
}

/// Messages that answer; others answer 0.
constexpr u32 kGetRealtime = 0x83;
u64 message(const Wave* wave, const Op* op) {
    return (op->scalar().imm & 0xff) == kGetRealtime ? clock_of(wave, op) / kInstructionsPerTick : 0;
}
const Op* s_sendmsg_rtn_b32(Wave* wave, const Op* op) {
    put<u32>(wave, op->scalar().dst, static_cast<u32>(message(wave, op)));
    STRATA_EMU_NEXT;
}
const Op* s_sendmsg_rtn_b64(Wave* wave, const Op* op) {
    put<u64>(wave, op->scalar().dst, message(wave, op));
    STRATA_EMU_NEXT;
}
const Op* s_memtime(Wave* wave, const Op* op) {
    put<u64>(wave, op->scalar().dst, clock_of(wave, op));
    STRATA_EMU_NEXT;
}
const Op* s_memrealtime(Wave* wave, const Op* op) {
    put<u64>(wave, op->scalar().dst, clock_of(wave, op) / kInstructionsPerTick);
    STRATA_EMU_NEXT;
}

// Register indexing of gfx9 (CDNA3 ISA, "VGPR Indexing"): the index is M0[7:0], the operands it applies to M0[15:12].
void set_m0(Wave* wave, u32 mask, u32 value) {
    u32& m0 = wave->s[isa::code::m0];
    m0 = (m0 & ~mask) | (value & mask);
}
const Op* s_set_gpr_idx_on(Wave* wave, const Op* op) {
    wave->mode |= kGprIndex;
    set_m0(wave, 0xff, source<u32>(wave, op, 0));
    set_m0(wave, 0xf000, op->scalar().imm << 12);
    STRATA_EMU_NEXT;
}
const Op* s_set_gpr_idx_off(Wave* wave, const Op* op) {
    wave->mode &= ~kGprIndex;
    STRATA_EMU_NEXT;
}
const Op* s_set_gpr_idx_idx(Wave* wave, const Op* op) {
    set_m0(wave, 0xff, source<u32>(wave, op, 0));
    STRATA_EMU_NEXT;
}
const Op* s_set_gpr_idx_mode(Wave* wave, const Op* op) {
    set_m0(wave, 0xf000, op->scalar().imm << 12);
    STRATA_EMU_NEXT;
}
const Op* s_setvskip(Wave* wave, const Op* op) {
    const bool skip = source<u32>(wave, op, 0) >> (source<u32>(wave, op, 1) & 31) & 1;
    wave->mode = skip ? wave->mode | kVskip : wave->mode & ~kVskip;
    STRATA_EMU_NEXT;
}

constexpr NamedHandler kRows[] = {
    {"s_round_mode", s_round_mode},
    {"s_denorm_mode", s_denorm_mode},
    {"s_sendmsg_rtn_b32", s_sendmsg_rtn_b32},
    {"s_sendmsg_rtn_b64", s_sendmsg_rtn_b64},
    {"s_memtime", s_memtime},
    {"s_memrealtime", s_memrealtime},
    {"s_set_gpr_idx_on", s_set_gpr_idx_on},
    {"s_set_gpr_idx_off", s_set_gpr_idx_off},
    {"s_set_gpr_idx_idx", s_set_gpr_idx_idx},
    {"s_set_gpr_idx_mode", s_set_gpr_idx_mode},
    {"s_setvskip", s_setvskip},
};

}  // namespace

Handler choose_mode(const Decoded& decoded) {
    const bool gfx11 = decoded.family() == isa::Family::rdna3, gfx12 = decoded.family() == isa::Family::rdna4;
    const u32 id = static_cast<u32>(decoded.inst.offset) & 63;
    if (decoded.name == "s_getreg_b32") {
        if (gfx11) return pick_getreg<kGfx11>(id, std::make_index_sequence<std::size(kGfx11)>());
        if (gfx12) return pick_getreg<kGfx12>(id, std::make_index_sequence<std::size(kGfx12)>());
        return pick_getreg<kGfx9>(id, std::make_index_sequence<std::size(kGfx9)>());
    }
    if (decoded.name == "s_setreg_b32" || decoded.name == "s_setreg_imm32_b32") {
        if (id != kMode) return nop;  // the others are read-only or have no effect here
        return gfx11 ? setreg_mode<~0u> : gfx12 ? setreg_mode<~kFixedOnGfx12> : setreg_mode_gfx9;
    }
    auto it = std::ranges::find(kRows, decoded.name, &NamedHandler::mnemonic);
    return it != std::end(kRows) ? it->run : nullptr;
}

}  // namespace strata::emu
