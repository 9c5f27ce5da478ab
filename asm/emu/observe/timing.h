#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/observe/model.h"
#include "strata/asm/emu/program/program.h"
#include "strata/asm/isa/facts.h"

// The timing model. A few workgroups of a launch run a second copy of the code whose handlers account for each
// instruction first; what they cost is scaled to the grid. Nothing here depends on the host's time, threads or
// addresses.
namespace strata::emu {

/// Registers that an instruction touches: scalars by code, SCC as 128, vector registers from 256.
struct RegisterRange {
    uint16_t first = 0, count = 0;
};

struct Cost {
    Handler run = nullptr;  ///< the plain handler
    isa::LatencyClass unit = isa::LatencyClass::none;
    uint16_t issue = 0;        ///< cycles the wave cannot issue
    uint16_t busy = 0;         ///< cycles the unit is busy
    uint16_t latency = 1;      ///< cycles until the result may be read; memory adds its own
    bool matrix_core = false;  ///< runs beside the vector unit (CDNA)
    uint8_t sources = 0, results = 0;
    RegisterRange source[6], result[3];
};
Cost cost_of(isa::Family family, const isa::Inst& inst, int wave_size);

/// Copies of a Program's chunks with accounting handlers.
class MeasuredCode final : public Code {
  public:
    explicit MeasuredCode(Program& program) : program_(program) {}
    const Op* measured(const Op* plain);
    Result<const Op*> at_address(uint64_t address) override;
    const Op* plain(const Op* measured) const override;
    const Cost& cost(const Op* measured) const;

    /// An op of a counted workgroup is about to run.
    void count(const Op* measured);
    void clear_counts();
    /// How often each instruction of a chunk ran since then, by Op::index. A hint without an op counts as often as its
    /// neighbours allow.
    std::vector<uint64_t> counts(const Chunk& chunk) const;

  private:
    struct Copy {
        const Chunk* chunk = nullptr;
        std::vector<Op> ops;
        std::vector<Cost> costs;
        std::unique_ptr<std::atomic<uint64_t>[]> counts;  ///< by op
    };
    const Copy* copy_of(const Op* measured) const;

    Program& program_;
    std::mutex mutex_;
    std::deque<Copy> copies_;
    std::array<std::atomic<const Copy*>, Program::kMaxChunks> published_{};
    std::atomic<size_t> count_{0};
};

/// What one measured workgroup asked of the GPU.
struct Demand {
    double vector = 0, matrix = 0, scalar = 0, local = 0, memory = 0;  ///< busy cycles of the units
    double latency = 0;  ///< cycles from start to end with the GPU to itself
    double l2_bytes = 0, unique_bytes = 0;
    double hot_atomics = 0;  ///< updates of the most contended address
};

class GroupTiming {
  public:
    GroupTiming(MeasuredCode& code, const Model& model, const DeviceMemory& memory, int waves, int vgprs);

    /// Accounts for `op`, about to run; gives its plain handler.
    Handler account(Wave* wave, const Op* op);
    /// Whether this wave has been measured for long enough.
    bool enough(const Wave* wave) const;
    /// A wave has ended after `executed` instructions.
    void finish(const Wave& wave);
    Demand demand() const;
    /// Sizes of the allocations touched, by address.
    const std::vector<std::pair<uint64_t, uint64_t>>& touched() const { return touched_; }

  private:
    struct WaveState {
        double time = 0, matrix_free = 0;
        uint32_t counted = 0, executed = 0, barriers = 0;
        bool waiting = false;
        std::vector<double> ready;  ///< by register
    };
    double memory_access(Wave* wave, const Op* op);
    double local_access(Wave* wave, const Op* op);
    double scalar_access(Wave* wave, const Op* op);
    bool touch_line(uint64_t line, bool& fresh);
    uint64_t line_of(uint64_t address);

    MeasuredCode* code_;
    const Model* model_;
    const DeviceMemory* memory_;
    std::vector<WaveState> waves_;
    std::vector<double> barrier_times_;
    std::vector<uint64_t> l0_;            ///< direct-mapped tags of 128-byte lines
    std::unordered_set<uint64_t> lines_;  ///< all lines of this workgroup
    std::vector<std::pair<uint64_t, uint64_t>> touched_;
    size_t last_touched_ = 0;
    std::unordered_map<uint64_t, uint32_t> atomics_;  ///< updates by address
    Demand sum_;
    uint32_t limit_ = 0;  ///< instructions measured of a wave
};

/// Shape of a launch as far as occupancy is concerned.
struct Occupancy {
    uint64_t groups = 1;
    uint32_t waves = 1, lds = 0;
    int vgprs = 0, wave_size = 32;
    bool wgp_mode = true;
};
/// Cycles of the whole launch, from the demands of its measured workgroups.
double estimate_cycles(const Model& model, const isa::ArchInfo& arch, const Occupancy& shape,
                       const std::vector<GroupTiming>& groups);

}  // namespace strata::emu
