#pragma once
#include <vector>

#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/lint/access.h"

namespace strata::emu {

/// The registers that the instructions of a program touch, kept from launch to launch. Thread-safe.
class AccessTable {
  public:
    explicit AccessTable(const Program& program) : program_(program) {}
    /// By Op::index.
    const std::vector<lint::Access>& of(const Chunk& chunk);

  private:
    const Program& program_;
    PerChunk<std::vector<lint::Access>> accesses_;
};

}  // namespace strata::emu
