#pragma once
#include "strata/codegen/machine/machine.h"

// Instructions that passes add to placed code. `origin` is that of the instruction for which they are added.
namespace strata::codegen {

/// dst = src: a scalar register of 32 or 64 bits, as wide as a mask of lanes.
Instruction move_mask(const MachineFunction& function, uint16_t dst, uint16_t src, uint32_t origin);
/// An instruction with an immediate and no registers; where its format has one, it is null.
Instruction immediate(const MachineFunction& function, std::string_view mnemonic, int32_t value, uint32_t origin);
/// A branch to a block.
Instruction branch(const MachineFunction& function, std::string_view mnemonic, uint32_t target, uint32_t origin);

/// An instruction to be put in front of one that a block has.
struct Insertion {
    size_t before;
    Instruction instruction;
};
/// Puts instructions in, which are in the order of their places.
void insert(Block& block, std::span<const Insertion> insertions);

}  // namespace strata::codegen
