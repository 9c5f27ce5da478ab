#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "strata/asm/emu/observe/caches.h"
#include "strata/asm/emu/observe/cost.h"
#include "strata/asm/emu/observe/group_profile.h"
#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/emu/observe/line_set.h"
#include "strata/asm/emu/observe/local_banks.h"
#include "strata/asm/emu/observe/model.h"
#include "strata/asm/emu/observe/wave_loops.h"

namespace strata::emu {

/// Work that one measured workgroup asked of the GPU.
struct Demand {
    double vector = 0, matrix = 0, scalar = 0, local = 0, memory = 0;  ///< busy cycles of the units
    double conflicts = 0;                                              ///< of `local`, what banks that lanes share add
    double latency = 0;                     ///< cycles from start to end with the GPU to itself
    double l2_bytes = 0, unique_bytes = 0;  ///< unique: lines that are read, and lines that are written
    double displaced_bytes = 0;             ///< of lines that were in L2 once, and are no more when they are used again
    double in_l2_bytes = 0, in_llc_bytes = 0;  ///< of unique_bytes: earlier launches left them in L2; in either cache

    void add(const LoopWork& work, double times) {
        vector += work.vector * times;
        matrix += work.matrix * times;
        scalar += work.scalar * times;
        local += work.local * times;
        conflicts += work.conflicts * times;
    }
    void scale_work(double times) {
        for (double* part : {&vector, &matrix, &scalar, &local, &conflicts}) *part *= times;
    }
};

/// An allocation that a workgroup touched.
struct Touched {
    uint64_t low = 0, size = 0;
    uint64_t first = ~0ull, last = 0;  ///< lines of it, from its start
    uint64_t fresh = 0;                ///< different lines
    bool read = false, written = false;
    Caches::Held held = {};
};

/// Measures one workgroup: a scoreboard a wave, busy cycles of the units, lines of memory touched. A few turns of
/// each loop are measured; memory accesses are counted in every turn. Host time, threads and addresses do not matter.
class GroupTiming final : public Observer {
  public:
    /// A workgroup among others.
    struct Place {
        uint64_t groups = 1, in_flight = 1;  ///< in_flight: at once on the GPU
        int waves = 1, vgprs = 0;
        const Caches* caches = nullptr;  ///< as earlier launches left them; none: empty
        bool profiled = false;           ///< it keeps what happened to which instruction
    };
    GroupTiming(CostTable& costs, const Model& model, const DeviceMemory& memory, const Place& place);

    Wants before(Wave& wave, const Site& site) override;
    void ended(const Wave& wave) override;
    bool orders_waves() const override { return true; }
    Demand demand() const;
    double executed() const;  ///< instructions of its waves
    const std::vector<Touched>& touched() const { return touched_; }
    /// Updates by address.
    const std::unordered_map<uint64_t, uint32_t>& atomics() const { return atomics_; }
    const GroupProfile* profile() const { return profile_.get(); }
    /// How often an op ran for each time that it was measured.
    double times(const Site& site) const;

  private:
    struct WaveState {
        WaveLoops loops;
        double time = 0, matrix_free = 0;
        uint64_t executed = 0;
        double vector = 0, matrix = 0, local = 0;  ///< busy cycles since the last barrier
        uint32_t barriers = 0;
        bool waiting = false;
        std::vector<double> ready = {};  ///< by register
        std::span<double> registers(const RegisterRange& range) { return {ready.data() + range.first, range.count}; }
    };
    struct Lines;
    bool find_dense(const Op* op, const uint64_t* addresses, uint64_t active, int lanes, Lines& lines) const;
    void find_lines(const Op* op, const uint64_t* addresses, uint64_t active, Lines& found);
    void pass_barrier(WaveState& state);
    void wait(WaveState& state, const Cost& cost);
    double occupy(Wave& wave, const Op& op, WaveState& state, const Cost& cost);
    void leave_out(Wave& wave, const Op& op, WaveState& state, const Cost& cost);
    void come_to_barrier(WaveState& state);
    double memory_access(Wave* wave, const Op* op);
    double local_access(Wave* wave, const Op* op, LoopWork& work);
    double scalar_access(Wave* wave, const Op* op);
    void write_line(uint64_t line);
    double read_line(uint64_t line);
    double fresh_line(uint64_t line, bool writes);
    double still_in_l2(uint64_t line, double last);
    void bring(uint64_t line, double share);
    Touched& touched_at(uint64_t line) { return touched_[(line >> GroupProfile::kAllocationBit) - 1]; }
    uint64_t line_of(uint64_t address);
    void touch_bytes(uint64_t address, uint64_t bytes, bool reads, bool writes);
    void keep(GroupProfile::Step before, const Cost& cost);

    CostTable* costs_;
    const Model* model_;
    const DeviceMemory* memory_;
    std::vector<WaveState> waves_;
    /// When all waves have come to a barrier, and busy cycles of the units up to it from the one before.
    struct Barrier {
        double time = 0, vector = 0, matrix = 0, local = 0;
    };
    double after(size_t barrier) const;
    std::vector<Barrier> barriers_;
    LocalBanks banks_;
    std::vector<uint64_t> l0_,
        stored_;              ///< direct-mapped tags of 128-byte lines: that are there; that are being written
    LineSet read_, written_;  ///< all lines of this workgroup
    std::vector<Touched> touched_;
    size_t last_touched_ = 0;
    double brought_ = 0;  ///< bytes that all workgroups in flight have brought to L2 by now, as far as this one tells
    std::unordered_map<uint64_t, uint32_t> atomics_;
    double groups_, in_flight_;
    const Caches* caches_;
    Demand sum_;  ///< of memory
    WorkOfLoops work_;
    std::unique_ptr<GroupProfile> profile_;
};

}  // namespace strata::emu
