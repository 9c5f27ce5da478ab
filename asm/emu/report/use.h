#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/emu/program/program.h"

namespace strata::emu {

/// How often each instruction of a chunk ran, by Op::index.
using CountsOf = std::function<std::vector<uint64_t>(const Chunk&)>;

/// The decoded instructions of a kernel, by mnemonic; without `counts` nobody counted.
std::vector<InstructionUse> instructions_of(const Program& program, const CountsOf& counts = {});

}  // namespace strata::emu
