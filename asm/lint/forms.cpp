#include <fmt/format.h>

#include "strata/asm/lint/forms_p.h"

namespace strata::lint {
namespace {

using isa::Format;

/// The instructions that may form one clause: all of one of these kinds (RDNA3 ISA 5.3, RDNA4 ISA 5.3).
enum class ClauseKind : uint8_t { none, vector_alu, vector_memory, scalar_memory, local_memory };

ClauseKind clause_kind(const isa::Inst& inst) {
    switch (isa::kFormats[static_cast<size_t>(inst.row->format)].unit) {
        case isa::FormatUnit::vector: return ClauseKind::vector_alu;
        case isa::FormatUnit::memory:
            if (inst.row->format == Format::SMEM) return ClauseKind::scalar_memory;
            return inst.row->format == Format::DS ? ClauseKind::local_memory : ClauseKind::vector_memory;
        default: return inst.row->format == Format::MIMG ? ClauseKind::vector_memory : ClauseKind::none;
    }
}

}  // namespace

/// The encoder knows the rules of register banks.
void check_dual(isa::Arch arch, const Step& step, Findings& found) {
    if (!step.inst->row_y) return;
    const auto encoded = isa::encode(arch, *step.inst);
    if (encoded || found.again(Kind::dual_registers, step.pc)) return;
    found.add({.kind = Kind::dual_registers,
               .pc = step.pc,
               .what = encoded.error().message,
               .fix = "take registers of different banks, or two instructions"});
}

void check_clause(Code& code, const Step& step, Findings& found) {
    if (step.inst->row->mnemonic != "s_clause" || found.again(Kind::clause, step.pc)) return;
    const uint32_t length = (static_cast<uint32_t>(step.inst->offset) & 63) + 1;
    ClauseKind first = ClauseKind::none;
    uint64_t pc = step.pc + step.inst->size;
    for (uint32_t i = 0; i < length && code.holds(pc); ++i) {
        const auto line = code.at(pc);
        if (!line) return;
        const isa::Inst& inst = (*line)->inst;
        const std::string_view name = inst.row->mnemonic;
        const ClauseKind kind = clause_kind(inst);
        pc += inst.size;
        if (name == "s_nop" || name == "s_delay_alu") continue;
        if (kind != ClauseKind::none && (first == ClauseKind::none || kind == first)) {
            first = kind;
            continue;
        }
        found.add({.kind = Kind::clause,
                   .pc = step.pc,
                   .what = fmt::format("instruction {} of the {} in this clause is {}{}", i + 1, length, name,
                                       kind == ClauseKind::none ? ", which no clause can hold" : ", of another kind"),
                   .fix = i > 1 ? fmt::format("s_clause {:#x}", i - 1) : "no s_clause here",
                   .earlier = pc - inst.size});
        return;
    }
}

}  // namespace strata::lint
