#pragma once
#include <cstdint>

#include "strata/asm/emu/machine/wave.h"
#include "strata/asm/lint/access.h"

namespace strata::emu {

/// True if it is a scalar load or store by an address, not by a descriptor.
bool is_plain_scalar(const isa::Inst& inst);
uint64_t scalar_address(const Wave& wave, const ScalarMemoryFields& fields);

/// Bytes that a scalar load or store moves.
uint32_t scalar_bytes(const lint::Access& access);

/// Compilers load the aligned 8 or 16 bytes around what they need: such a load may run past the end of its memory.
bool may_be_widened(const isa::Inst& inst, uint32_t bytes);
/// Bytes of a plain scalar load that the memory has in which it begins; all of them where it begins in none.
uint32_t bytes_inside(const Wave& wave, const Op& op, uint32_t bytes);

}  // namespace strata::emu
