#include "strata/codegen/machine/operands.h"

#include <algorithm>

namespace strata::codegen {
namespace {

/// implicit_reads and implicit_writes name VCC also where it is an operand that allocation chooses.
bool names_mask(const std::span<const Place> places, const std::span<const isa::Operand> operands) {
    for (size_t i = 0; i < places.size(); ++i)
        if (places[i] && operands[i].type == isa::Type::lanes) return true;
    return false;
}

}  // namespace

bool has_effect(const Instruction& instruction) {
    if (instruction.pseudo != Pseudo::none) return false;
    const isa::Row& row = *instruction.inst.row;
    if (row.flags & (isa::kStore | isa::kAtomic | isa::kBranch | isa::kWritesExec)) return true;
    return !instruction.dst[0];  // comparisons into SCC, barriers, s_endpgm
}

bool is_loop(const MachineFunction& function, uint32_t block) {
    size_t entries = 0;
    for (const Block& from : function.blocks)
        for (const Instruction& one : from.code)
            if (is_branch(one)) entries += one.target == block || one.target == block + 1;
    const std::vector<Instruction>&before = function.blocks[block - 1].code, &code = function.blocks[block].code;
    const bool falls = before.empty() || !is_branch(before.back());
    return entries == 1 && falls && !code.empty() && is_branch(code.back()) && code.back().target == block;
}

OffsetRange offset_range(isa::Family family, isa::Format format) {
    const int64_t half = family == isa::Family::rdna4 ? int64_t{1} << 23 : int64_t{1} << 12;
    switch (format) {
        case isa::Format::GLOBAL: return {-half, half - 1};
        // Of a signed field of 21 bits, of 24 on RDNA4 (asm/isa/formats.def).
        case isa::Format::SMEM: return {0, std::max(half, int64_t{1} << 20) - 1};
        case isa::Format::MUBUF: return {0, half - 1};
        case isa::Format::DS: return {0, 65535};
        default: return {};
    }
}

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

bool leaves_scc(const MachineFunction& function, std::span<const Instruction> code, size_t i) {
    if (!writes_scc(function, code[i])) return true;
    for (const Instruction& later : code.subspan(i + 1)) {
        if (reads_scc(function, later)) return false;
        const bool ends = later.pseudo == Pseudo::none && later.inst.row->mnemonic == "s_endpgm";
        if (ends || writes_scc(function, later)) return true;
    }
    return false;
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
