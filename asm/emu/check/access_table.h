#pragma once
#include <vector>

#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/lint/hazards.h"

namespace strata::emu {

/// What strict mode must know of an instruction.
struct Checked {
    lint::Access access;
    lint::Recent::Known rules;
    bool is_barrier = false;
    Transfer transfer = nullptr, transfer_y = nullptr;
};

/// That of the instructions of a program, kept from launch to launch. Thread-safe.
class AccessTable {
  public:
    explicit AccessTable(const Program& program) : program_(program) {}
    /// By Op::index.
    const std::vector<Checked>& of(const Chunk& chunk);

  private:
    const Program& program_;
    PerChunk<std::vector<Checked>> checked_;
};

}  // namespace strata::emu
