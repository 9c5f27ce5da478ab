#pragma once
#include "strata/asm/emu/machine/wave.h"

// From decoded operands to the places of an Op.
namespace strata::emu {

/// Byte offset from the Wave of a destination; writes to NULL go to the trash.
uint32_t destination_place(const isa::Operand& operand, int wave_size);

/// 64 bits of an inline constant or literal as an operand of `type` sees it (RDNA3 ISA, "Scalar/Vector operands").
/// Operands of 32 bits and less use the low half.
uint64_t constant_value(const isa::Operand& operand, uint32_t literal, std::string_view mnemonic);

/// What an Op has no room for: set by an Op of its own before the instruction runs.
struct Computed {
    bool wide_constant = false;  ///< a third 64-bit constant: `constant` goes to two computed scalars
    bool zero_flags = false;     ///< VCCZ or EXECZ (gfx9)
    uint64_t constant = 0;
    bool any() const { return wide_constant || zero_flags; }
};

/// Places of all operands. `used` dwords of op.value are taken already; returns how many are taken afterwards.
int resolve_operands(const isa::Inst& inst, int wave_size, Op& op, Computed& computed);

/// Resolves source `i` of `op`; false when no room for its constant is left in op.value.
bool resolve_source(const isa::Operand& operand, uint32_t literal, std::string_view mnemonic, int wave_size, Op& op,
                    int i, int& used, Computed& computed);

}  // namespace strata::emu
