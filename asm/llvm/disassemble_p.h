#pragma once
#include <span>
#include <vector>

#include "strata/asm/llvm/assemble.h"

namespace strata::isa {

/// Disassembles with Strata's own tables: what is used where LLVM is missing. The arch's family must have rows.
std::vector<DisassembledLine> disassemble_with_tables(std::span<const uint8_t> code, Arch arch, int wave_size = 0);

}  // namespace strata::isa
