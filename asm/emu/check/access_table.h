#pragma once
#include <vector>

#include "strata/asm/emu/check/runs.h"
#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/lint/hazards.h"

namespace strata::emu {

/// What strict mode must know of an instruction.
struct Checked {
    lint::Access access;
    lint::Recent::Known rules;
    bool is_barrier = false;
    bool starts_or_waits = false;  ///< an operation that is waited for, a wait, a message
    Transfer transfer = nullptr, transfer_y = nullptr;
    bool is_move = false;  ///< of a whole vector register, lane by lane
};

/// That of the instructions of a program, kept from launch to launch. Thread-safe.
class AccessTable final : public Runs {
  public:
    /// `accesses_private`: its waves have private memory.
    AccessTable(const Program& program, bool accesses_private)
        : program_(program), accesses_private_(accesses_private) {}
    struct OfChunk {
        std::vector<Checked> instructions;  ///< by Op::index
        std::vector<bool> is_last;          ///< by op: whether it does its instruction's work; others come before it
        std::vector<InRun> in_run;          ///< by op
        std::vector<Run> runs;
        std::vector<uint32_t> run_at;  ///< by op: the run that starts there
    };
    const OfChunk& of(const Chunk& chunk);
    std::span<const InRun> runs_of(const Chunk& chunk) override { return of(chunk).in_run; }

  private:
    OfChunk make(const Chunk& chunk);

    const Program& program_;
    bool accesses_private_;
    uint32_t runs_ = 0;
    PerChunk<OfChunk> checked_;
};

}  // namespace strata::emu
