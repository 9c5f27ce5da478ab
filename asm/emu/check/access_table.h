#pragma once
#include <vector>

#include "strata/asm/emu/check/hand_over.h"
#include "strata/asm/emu/check/runs.h"
#include "strata/asm/emu/check/transfer.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/lint/hazards.h"

namespace strata::emu {

/// How an instruction takes part in a barrier; other: it neither signals nor waits.
enum class Barrier : uint8_t { no, signals, waits, both, other };

/// Facts of an instruction that strict mode needs.
struct Checked {
    lint::Access access;
    lint::Recent::Known rules;
    Barrier barrier = Barrier::no;
    bool starts_or_waits = false;  ///< an operation that is waited for, a wait, a message
    Transfer transfer = nullptr, transfer_y = nullptr;
    bool is_move = false;     ///< of a whole vector register, lane by lane
    bool stores = false;      ///< of active lanes, to memory that may be others' too
    bool to_local = false;    ///< a load to local memory and no register
    bool wants_lane = false;  ///< without an active lane it does nothing, or nothing sensible
    uint8_t widened = 0;      ///< bytes of a scalar load that may be more than were asked for; 0: it is none
    HandOver hand_over = HandOver::none;
    Atomic atomic = Atomic::no;
    /// The branch around a barrier that runs only if some lanes want it, or back; its pc + 1.
    uint32_t branch = 0;
};

/// The checks that a table serves.
struct Watched {
    bool accesses_private = false;  ///< its waves have private memory
    bool faults_replay = true;      ///< memory instructions may run twice (XNACK)
    bool global_memory = false;     ///< accesses to memory that workgroups share are looked at one by one
};

/// That of the instructions of a program, kept from launch to launch. Thread-safe.
class AccessTable final : public Runs {
  public:
    AccessTable(const Program& program, const Watched& watched) : program_(program), watched_(watched) {}
    /// The state of the distance rules at the start of a wave.
    lint::Recent nothing_near() const {
        return lint::recent_for(program_.arch(), program_.wave_size(), watched_.faults_replay);
    }
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
    Watched watched_;
    uint32_t runs_ = 0;
    PerChunk<OfChunk> checked_;
};

}  // namespace strata::emu
