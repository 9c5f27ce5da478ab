#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "strata/asm/emu/check/launch_checks.h"
#include "strata/asm/emu/gpu.h"
#include "strata/asm/emu/launch/clear.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/observe/instrumented.h"

namespace strata::emu {

class Services;

constexpr uint64_t kMostResidents = 16384;  ///< workgroups on a thread

/// Everything a worker needs to start and run the workgroups of one launch.
struct Plan {
    static constexpr uint64_t kWaveCost = 16;  ///< instructions that take as long as the start and end of a wave

    Launch launch;
    const Op* entry = nullptr;
    int lanes = 32, vgprs = 0;
    std::vector<Rows> cleared;  ///< of the vector registers, when a wave starts with all lanes and nobody looks on
    std::array<uint32_t, 3> grid{1, 1, 1};
    uint32_t waves = 1;             ///< of a workgroup
    uint32_t lds = 0, scratch = 0;  ///< bytes a workgroup, bytes a lane
    uint32_t mode = 0xf0;
    std::array<uint32_t, 128> scalars{};       ///< of every wave, by code; EXEC is filled in
    std::array<int, 3> id_codes{-1, -1, -1};   ///< where the workgroup's ids go
    bool ids_in_ttmp = false;                  ///< RDNA4: ids and the wave's number are in TTMP7, 8 and 9
    std::vector<uint32_t> v0;                  ///< packed work-item ids, `lanes` a wave
    std::vector<uint64_t> exec;                ///< by wave
    uint64_t max_instructions = 0, seed = 0;   ///< max_instructions: of a wave
    uint64_t max_of_launch = 0;                ///< instructions of all waves, each with its kWaveCost
    std::atomic<uint64_t> executed{0};         ///< by all waves; workers add to it now and then
    Services* services = nullptr;              ///< of a kernel that calls its host: one thread runs all its workgroups
    InstrumentedCode* instrumented = nullptr;  ///< what workgroups run that are observed
    InstrumentedCode* checked = nullptr;       ///< what those run that only strict mode observes
    std::vector<Observer*> observers;          ///< of every workgroup
    std::map<uint64_t, Observer*> of_group;    ///< of single workgroups, by number
    LaunchChecks* checks = nullptr;            ///< of a launch in strict mode
    GivenScalars given = {};                   ///< what the waves find in their registers

    uint64_t first_group = 0, group_step = 1;  ///< the order in which workgroups start
    std::vector<uint64_t> sample;              ///< the only ones that run; empty: all do
    bool last_waits = false;                   ///< the one that starts last waits for all others
    uint64_t end = 0;                          ///< workgroups to start, in order
    bool over_budget = false;                  ///< a wave ran as many instructions as it may

    uint64_t groups() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
    uint64_t groups_to_run() const { return sample.empty() ? groups() : sample.size(); }
    /// The number of the workgroup that starts as the n-th.
    uint64_t group_in_order(uint64_t n) const {
        if (!sample.empty()) return sample[n];
        if (first_group == 0 && group_step == 1) return n;
        const auto wide = static_cast<unsigned __int128>(n) * group_step + first_group;
        return static_cast<uint64_t>(wide % groups());
    }
    size_t wave_bytes() const { return sizeof(Wave) + static_cast<size_t>(vgprs) * static_cast<size_t>(lanes) * 4; }
};

/// The result of running a plan.
struct Outcome {
    uint64_t instructions = 0;
    uint64_t waves = 0;
};

/// Threads that take workgroups from a plan until none is left.
class Pool {
  public:
    Pool();
    ~Pool();
    Pool(const Pool&) = delete;
    /// Runs the plan on at most `threads` threads, the caller's among them. Throws Interrupted.
    Result<Outcome> run(Plan& plan, int threads);

  private:
    struct State;
    State& of_this_process();
    /// From the n-th workgroup on, to plan.end.
    Result<Outcome> run_from(Plan& plan, uint64_t first, int threads);

    std::unique_ptr<State> state_;
};

}  // namespace strata::emu
