#pragma once
#include "strata/asm/emu/machine/wave.h"

// From decoded operands to the places of an Op.
namespace strata::emu {

/// Byte offset from the Wave of a destination; writes to NULL go to the trash.
uint32_t destination_place(const isa::Operand& operand, int wave_size);

/// 64 bits of an inline constant or literal as an operand of its type sees it (RDNA3 ISA, "Scalar/Vector operands");
/// `packed` is the row's packed_reals. Operands of 32 bits and less use the low half.
uint64_t constant_value(const isa::Operand& operand, uint32_t literal, isa::Reals packed = isa::Reals::f32);

/// VCCZ and EXECZ as sources (gfx9): an op before the instruction's own computes these scalars.
bool is_zero_flag(const isa::Operand& operand);
bool reads_zero_flags(const isa::Inst& inst);
Place zero_flag_place(const isa::Operand& operand);

}  // namespace strata::emu
