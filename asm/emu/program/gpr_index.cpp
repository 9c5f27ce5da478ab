#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/program/build.h"

// gfx9's modes that change what a vector instruction does: relative register numbers (GPR_IDX_EN) and VSKIP (CDNA3 ISA,
// "VGPR Indexing", "VSKIP"). Code that uses neither never comes here.
namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

/// Goes on after the instruction that was run in a changed form.
const Op* resume(Wave* wave, const Op* op) {
    const Op* const next = op->resume().next;
    STRATA_EMU_GOTO(next);
}

/// Adds M0's index to the registers that M0[15:12] selects; false if one leaves the wave's registers.
bool shift_registers(Inst& inst, uint32_t m0, const Program& program) {
    const int index = static_cast<int>(m0 & 0xff);
    bool inside = true;
    auto shift = [&](Operand& operand, int selected) {
        if (!(m0 >> selected & 1) || !operand.present() || !operand.is_vector()) return;
        const int last = operand.row() + index + std::max(isa::dwords(operand.type, program.wave_size()), 1) - 1;
        const bool accumulation = operand.row() >= program.accum_offset();
        inside = inside && last < (accumulation ? program.vgprs() : std::min(program.accum_offset(), program.vgprs()));
        operand.code = static_cast<uint16_t>(operand.code + index);
    };
    for (int i = 0; i < 3; ++i) shift(inst.src[static_cast<size_t>(i)], 12 + i);
    shift(inst.dst[0], 15);
    return inside;
}

/// True if relative register numbers have a meaning for the instruction.
bool can_be_indexed(const Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    return inst.dpp.kind == isa::DppKind::none && !inst.sdwa.present && !name.starts_with("v_readlane") &&
           !name.starts_with("v_readfirstlane");
}

/// True if M0[15:12] selects one of the instruction's vector registers.
bool is_selected(const Inst& inst, uint32_t m0) {
    auto selected = [&](const Operand& operand, int bit) {
        return (m0 >> bit & 1) && operand.present() && operand.is_vector();
    };
    return selected(inst.src[0], 12) || selected(inst.src[1], 13) || selected(inst.src[2], 14) ||
           selected(inst.dst[0], 15);
}

}  // namespace

const Op* indexed(Wave* wave, const Op* op) {
    if (wave->mode & kVskip) STRATA_EMU_GOTO(op + 2);
    const Program& program = *wave->group->launch->program;
    const Op* plain = wave->group->code->plain(op);
    const Inst* at = program.inst(plain + 1);
    const bool vector_alu = at->row->format < Format::DS || at->row->format == Format::MFMA;
    if (!(wave->mode & kGprIndex) || !vector_alu || !is_selected(*at, wave->s[isa::code::m0])) STRATA_EMU_NEXT;
    if (!can_be_indexed(*at)) return fail(wave, op, "lane reads, DPP and SDWA have no relative register numbers");
    Inst inst = *at;
    if (!shift_registers(inst, wave->s[isa::code::m0], program))
        return fail(wave, op, "M0 leads past the wave's vector registers");
    thread_local Op changed[2];
    const std::optional<Op> op_of_changed = make_op({inst, program.arch(), program.wave_size()});
    if (!op_of_changed) return fail(wave, op, "the instruction has no form with these registers");
    changed[0] = *op_of_changed;
    changed[1] = Op(resume, ResumeFields{op + 2});
    changed[0].index = changed[1].index = op->index;
    const Op* const first = changed;
    STRATA_EMU_GOTO(first);
}

bool starts_indexing(const Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    return name == "s_set_gpr_idx_on" || name == "s_setvskip";
}

}  // namespace strata::emu
