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
    void begin();

    void started(const Wave& wave) override;
    bool before(Wave& wave, const Site& site) override;
    bool before_run(Wave& wave, const Site& site) override;
    void ended(const Wave& wave) override;

  private:
    struct OfWave {
        const Chunk* chunk = nullptr;
        size_t at = 0;       ///< the op that it ran last
        uint32_t index = 0;  ///< and its instruction
        Paths::Place path = {};
        bool is_ahead = false;  ///< the path is behind the run that the wave is in: nothing is wrong there
        Registers registers;
        PrivateMemory scratch;
        bool ended = false, was_indexed = false;
    };
    void look_at(const Chunk& chunk);
    bool pass_memory(OfWave& state, Wave& wave, const Op& op);
    void step(OfWave& state, Wave& wave, const Chunk& chunk, uint32_t index, const Op* op);
    void barrier(const Moment& moment);
    void see(const Wave& wave);

    LaunchChecks& launch_;
    Paths& paths_;
    const Chunk* table_chunk_ = nullptr;
    const AccessTable::OfChunk* table_ = nullptr;  ///< of that chunk
    lint::Findings found_;
    const Wave* seen_ = nullptr;  ///< who is the witness of what is found
    lint::Witness witness_;
    std::vector<OfWave> waves_;
    LocalMemory local_;
    std::vector<uint64_t> barriers_;  ///< where the first wave met the workgroup's barriers, by number
};

}  // namespace strata::emu
