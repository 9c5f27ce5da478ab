#pragma once
#include <algorithm>

#include "strata/asm/isa/facts.h"
#include "strata/codegen/machine/machine.h"

// Reads and writes of an instruction, for analyses over virtual registers.
namespace strata::codegen {

/// RDNA leaves the upper half of a register as it was when 16 bits are written to the lower: a half that nobody wants
/// here.
inline bool fills_lower_half(const Instruction& instruction) {
    const isa::Row& row = *instruction.inst.row;
    const bool adds = row.mnemonic.find("mac") != row.mnemonic.npos;
    return isa::is_half(row.dst[0]) && !adds && !(instruction.inst.op_sel & 8) &&
           !row.mnemonic.starts_with("v_fma_mixhi");
}

/// True if dst[0] is read too: it is added to, or lanes or bits of it stay.
inline bool reads_destination(const MachineFunction& function, const Instruction& instruction) {
    if (!instruction.dst[0] || instruction.keeps) return static_cast<bool>(instruction.dst[0]);
    return implicit_reads(function, instruction) & isa::implicit::destination &&
           (instruction.inst.dpp.kind != isa::DppKind::none || !fills_lower_half(instruction));
}

template <class Test>
bool any_of(const MachineFunction& function, Test test) {
    return std::ranges::any_of(function.blocks,
                               [&](const Block& block) { return std::ranges::any_of(block.code, test); });
}

/// visit(Place) for each register that is read.
template <class Visit>
void each_read(const MachineFunction& function, const Instruction& instruction, Visit visit) {
    for (Place place : instruction.src)
        if (place) visit(place);
    if (instruction.predicate) visit(instruction.predicate);
    if (reads_destination(function, instruction)) visit(instruction.dst[0]);
}

/// visit(Place) for each register that is written.
template <class Visit>
void each_write(const Instruction& instruction, Visit visit) {
    for (Place place : instruction.dst)
        if (place) visit(place);
}

inline bool is_copy(const Instruction& instruction) { return instruction.pseudo == Pseudo::copy; }
/// A copy between registers, of all lanes.
inline bool is_register_copy(const Instruction& instruction) {
    return is_copy(instruction) && instruction.src[0] && !instruction.predicate && !instruction.keeps;
}

/// True if an instruction does more than fill its destinations.
bool has_effect(const Instruction& instruction);

/// A loop of one block. Control enters it from the block in front of it or from its own end. It leaves for the block
/// after it, to which nothing else leads.
bool is_loop(const MachineFunction& function, uint32_t block);

/// Immediate offsets that a memory instruction holds. Those of GLOBAL have 13 bits with a sign, 24 on RDNA4. SMEM's and
/// MUBUF's are taken to be as large, from 0 on; those of DS have 16 bits.
struct OffsetRange {
    int64_t low = 0, high = 0;
    bool has(int64_t offset) const { return offset >= low && offset <= high; }
};
OffsetRange offset_range(isa::Family family, isa::Format format);

/// True if an operand that is not placed is this register of the machine.
bool names(std::span<const Place> places, std::span<const isa::Operand> operands, uint16_t code);
inline bool reads_named(const Instruction& instruction, uint16_t code) {
    return names(instruction.src, instruction.inst.src, code);
}
inline bool writes_named(const Instruction& instruction, uint16_t code) {
    return names(instruction.dst, instruction.inst.dst, code);
}
bool reads_scc(const MachineFunction& function, const Instruction& instruction);
bool writes_scc(const MachineFunction& function, const Instruction& instruction);
/// True if what code[i] leaves in SCC is written again in the block before it is read.
bool leaves_scc(const MachineFunction& function, std::span<const Instruction> code, size_t i);
bool reads_vcc(const MachineFunction& function, const Instruction& instruction);
bool writes_vcc(const MachineFunction& function, const Instruction& instruction);

/// True if a lane's result is made of other lanes' operands: these must run too.
inline bool crosses_lanes(const Instruction& instruction) {
    return instruction.pseudo == Pseudo::none && (instruction.inst.dpp.kind != isa::DppKind::none ||
                                                  instruction.inst.row->mnemonic.starts_with("v_permlane"));
}

/// True if results arrive before all sources are read, so that they share no register with them. Such are matrix
/// products (RDNA3 ISA 7.9, CDNA3 ISA 7.1); the accumulator itself may be the result. Others are 64-bit products and
/// sums of differences of gfx11 and before, and loads of several dwords that CDNA repeats after a page fault.
bool writes_early(const MachineFunction& function, const Instruction& instruction);

}  // namespace strata::codegen
