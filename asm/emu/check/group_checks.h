#pragma once
#include <vector>

#include "strata/asm/emu/check/launch_checks.h"
#include "strata/asm/emu/check/local_memory.h"
#include "strata/asm/emu/check/paths.h"
#include "strata/asm/emu/check/private_memory.h"
#include "strata/asm/emu/check/registers.h"
#include "strata/asm/emu/observe/instrumented.h"

namespace strata::emu {

/// Strict mode of one resident workgroup after another.
class GroupChecks final : public Observer {
  public:
    explicit GroupChecks(LaunchChecks& launch);
    ~GroupChecks() override;
    /// Another workgroup begins.
    void begin(const Workgroup& group);

    void started(const Wave& wave) override;
    Wants before(Wave& wave, const Site& site) override;
    bool before_run(Wave& wave, const Site& site) override;
    bool within_run(Wave& wave, const Site& site) override;
    void ended(const Wave& wave) override;

  private:
    struct OfWave {
        const Chunk* chunk = nullptr;
        size_t at = 0;       ///< the op that it ran last
        uint32_t index = 0;  ///< and its instruction
        Paths::Place path = {};
        bool is_ahead = false;  ///< the path is after the run that the wave is in: nothing is wrong there
        Registers registers;
        PrivateMemory scratch;
        bool ended = false, was_indexed = false;
        uint64_t lanes = 0;   ///< that it has
        uint64_t missed = 0;  ///< those that were not at a barrier, after a branch that they took another way
        uint32_t barrier = 0, branch = 0;  ///< that barrier and that branch, by pc
        uint64_t released = 0;             ///< pc of what comes right after a release
    };
    void look_at(const Chunk& chunk);
    bool pass_memory(OfWave& state, Wave& wave, const Op& op);
    void step(OfWave& state, Wave& wave, const Chunk& chunk, uint32_t index, const Op* op);
    void barrier(OfWave& state, Wave& wave, const Op* op, const lint::Step& step, const Checked& checked);
    void compare_barriers(Wave& wave, const Op* op, const lint::Step& step, uint32_t number);
    void come_back(OfWave& state, const Wave& wave, uint64_t exec);
    void want_lane(const Moment& moment);
    void see_lanes(const Run& run, const Chunk& chunk);
    uint64_t stale(Wave& wave, const Chunk& chunk, uint32_t index, const Op& op);
    void share(OfWave& state, Wave& wave, const Chunk& chunk, uint32_t index, const Op* op);
    void see(const Wave& wave);

    LaunchChecks& launch_;
    Paths& paths_;
    GlobalRaces* races_;   ///< nullptr: they are not looked for
    Pointers* pointers_;   ///< nullptr: none share memory
    uint32_t number_ = 0;  ///< of the workgroup, there
    ScalarSet given_;      ///< scalars that waves start with
    const Chunk* table_chunk_ = nullptr;
    const AccessTable::OfChunk* table_ = nullptr;  ///< of that chunk
    lint::Findings found_;
    LanesWanted wanted_;
    std::vector<bool> had_lanes_;  ///< by run: it is among those of wanted_
    const Wave* seen_ = nullptr;   ///< who is the witness of what is found
    lint::Witness witness_;
    std::vector<OfWave> waves_;
    bool some_ended_ = false;  ///< of the workgroup's waves
    LocalMemory local_;
    std::vector<uint64_t> barriers_;  ///< where the first wave met the workgroup's barriers, by number
};

}  // namespace strata::emu
