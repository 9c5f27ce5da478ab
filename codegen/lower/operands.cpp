#include "strata/codegen/lower/operands_p.h"

namespace strata::codegen {
namespace {

/// implicit_reads and implicit_writes name VCC also where it is an operand that allocation chooses.
bool names_mask(const std::span<const Place> places, const std::span<const isa::Operand> operands) {
    for (size_t i = 0; i < places.size(); ++i)
        if (places[i] && operands[i].type == isa::Type::lanes) return true;
    return false;
}

}  // namespace

bool names(std::span<const Place> places, std::span<const isa::Operand> operands, uint16_t code) {
    for (size_t i = 0; i < places.size(); ++i)
        if (!places[i] && operands[i].present() && operands[i].code == code) return true;
    return false;
}

bool reads_scc(const MachineFunction& function, const Instruction& instruction) {
    return implicit_reads(function, instruction) & isa::implicit::scc || reads_named(instruction, isa::code::scc);
}

bool writes_scc(const MachineFunction& function, const Instruction& instruction) {
    return implicit_writes(function, instruction) & isa::implicit::scc;
}

bool reads_vcc(const MachineFunction& function, const Instruction& instruction) {
    if (reads_named(instruction, isa::code::vcc_lo) || reads_named(instruction, isa::code::vcc_hi)) return true;
    return implicit_reads(function, instruction) & isa::implicit::vcc &&
           !names_mask(instruction.src, instruction.inst.src);
}

bool writes_vcc(const MachineFunction& function, const Instruction& instruction) {
    if (writes_named(instruction, isa::code::vcc_lo) || writes_named(instruction, isa::code::vcc_hi)) return true;
    return implicit_writes(function, instruction) & isa::implicit::vcc &&
           !names_mask(instruction.dst, instruction.inst.dst);
}

bool writes_early(const MachineFunction& function, const Instruction& instruction) {
    if (instruction.pseudo != Pseudo::none) return false;
    const isa::Row& row = *instruction.inst.row;
    if (row.flags & isa::kMatrix) return true;
    if (row.flags & isa::kMemory)
        return isa::is_cdna(function.family) && instruction.dst[0] && instruction.dst[0].dwords > 1;
    if (row.format != isa::Format::VOP3 && row.format != isa::Format::VOP3SD) return false;
    const std::string_view name = row.mnemonic;
    if (name.starts_with("v_mad_u64") || name.starts_with("v_mad_i64")) return function.family == isa::Family::rdna3;
    return name.starts_with("v_qsad") || name.starts_with("v_mqsad");
}

}  // namespace strata::codegen
