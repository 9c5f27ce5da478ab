#pragma once
#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// True if a file says that it is code for NVIDIA's chips.
bool is_cubin(std::span<const uint8_t> file);

/// Kernels with their parameters, and variables, of a linked file for NVIDIA's chips. It has no segments here: the
/// driver alone reads its code.
Result<CodeObject> read_cubin(Bytes image);

}  // namespace strata::isa
