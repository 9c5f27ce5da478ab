#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/asm/emu/observe/cost.h"
#include "strata/asm/emu/observe/group_profile.h"
#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/emu/observe/line_set.h"
#include "strata/asm/emu/observe/local_banks.h"
#include "strata/asm/emu/observe/model.h"

namespace strata::emu {

/// What one measured workgroup asked of the GPU.
struct Demand {
    double vector = 0, matrix = 0, scalar = 0, local = 0, memory = 0;  ///< busy cycles of the units
    double conflicts = 0;                                              ///< of `local`, what banks that lanes share add
    double latency = 0;  ///< cycles from start to end with the GPU to itself
    double l2_bytes = 0, unique_bytes = 0;
};

/// Measures one workgroup: a scoreboard a wave, busy cycles of the units, lines of memory touched. Nothing here depends on
/// the host's time, threads or addresses.
class GroupTiming final : public Observer {
  public:
    /// One of `groups` workgroups. profiled: it keeps what happened to which instruction.
    GroupTiming(CostTable& costs, const Model& model, const DeviceMemory& memory, uint64_t groups, int waves, int vgprs,
                bool profiled = false);

    bool before(Wave& wave, const Site& site) override;
    void ended(const Wave& wave) override;
    bool orders_waves() const override { return true; }
    Demand demand() const;
    double executed() const;  ///< instructions of its waves
    /// Sizes of the allocations touched, by address.
    const std::vector<std::pair<uint64_t, uint64_t>>& touched() const { return touched_; }
    /// Updates by address.
    const std::unordered_map<uint64_t, uint32_t>& atomics() const { return atomics_; }
    const GroupProfile* profile() const { return profile_.get(); }
    /// Of what the workgroup does, how many times more than was measured.
    double scale() const;

  private:
    struct WaveState {
        double time = 0, matrix_free = 0;
        uint32_t counted = 0, executed = 0, barriers = 0;
        bool waiting = false, cut = false;  ///< cut: more follows than was measured
        const Op* last = nullptr;
        std::vector<double> ready;  ///< by register
        std::span<double> registers(const RegisterRange& range) { return {ready.data() + range.first, range.count}; }
    };
    struct Lines;
    bool find_dense(const Op* op, const uint64_t* addresses, uint64_t active, int lanes, Lines& lines) const;
    void find_lines(const Op* op, const uint64_t* addresses, uint64_t active, Lines& found);
    void wait(WaveState& state, const Cost& cost);
    double occupy(Wave& wave, const Op& op, WaveState& state, const Cost& cost);
    double memory_access(Wave* wave, const Op* op);
    double local_access(Wave* wave, const Op* op);
    double scalar_access(Wave* wave, const Op* op);
    double line_latency(uint64_t line);
    double fresh_latency(uint64_t line);
    uint64_t line_of(uint64_t address);
    void touch_bytes(uint64_t address, uint64_t bytes, bool reads, bool writes);
    void keep(uint32_t wave, const Op* op, const Cost& cost, double arrived, const Demand& before);

    CostTable* costs_;
    const Model* model_;
    const DeviceMemory* memory_;
    std::vector<WaveState> waves_;
    std::vector<double> barrier_times_;
    LocalBanks banks_;
    std::vector<uint64_t> l0_;  ///< direct-mapped tags of 128-byte lines
    LineSet lines_;             ///< all lines of this workgroup
    std::vector<std::pair<uint64_t, uint64_t>> touched_;
    size_t last_touched_ = 0;
    std::vector<uint64_t> fresh_lines_;  ///< by allocation
    std::unordered_map<uint64_t, uint32_t> atomics_;
    double groups_;
    Demand sum_;
    uint32_t limit_ = 0;  ///< instructions measured of a wave
    std::unique_ptr<GroupProfile> profile_;
};

}  // namespace strata::emu
