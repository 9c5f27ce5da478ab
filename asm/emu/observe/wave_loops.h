#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "strata/asm/emu/observe/cost.h"

namespace strata::emu {

/// The work that one loop asked of the units in the workgroup: of its own instructions, without those of loops in it.
struct LoopWork {
    double vector = 0, matrix = 0, scalar = 0, local = 0, conflicts = 0;  ///< busy cycles, of measured instructions
    double measured = 0, ran = 0;                                         ///< instructions
    double times() const { return measured > 0 ? std::max(1.0, ran / measured) : 1; }
};
/// By chunk, then by loop.
using WorkOfLoops = std::vector<std::vector<LoopWork>>;

/// Where a wave is among the loops of its code. The first turns of a loop are measured; the further ones are left out
/// and take what those took, until control leaves the loop. Code outside of loops is always measured.
class WaveLoops {
  public:
    /// budget: instructions of a loop that are measured at least.
    WaveLoops(CostTable& costs, WorkOfLoops& work, uint32_t budget) : costs_(&costs), work_(&work), budget_(budget) {}

    /// The wave comes to a site after `clock` instructions and `cycles`, to which left-out instructions are
    /// added.
    /// False: the site's instruction is left out.
    bool arrive(const Site& site, const Cost& cost, uint64_t clock, double& cycles) {
        if (!left_out_ && site.chunk == chunk_ && cost.loop == loop_ && !cost.is_header) return true;
        return left_out_ ? go_on(site, cost, clock, cycles) : move(site, cost, clock, cycles);
    }
    void end(uint64_t clock, double& cycles) { left_out_ ? settle(clock, cycles) : flush(clock, cycles); }
    /// The work of the loop that the wave is in.
    LoopWork& work() { return *work_here_; }

  private:
    /// First turns of a loop wait for memory where further ones do not.
    struct OfLoop {
        double first = 0, first_cycles = 0, later = 0,
               later_cycles = 0;                              ///< instructions of this loop alone, and their cycles
        double entries = 0, inside = 0, inside_at_entry = 0;  ///< inside: instructions, those of loops in it too
        bool warm =
            false;  ///< half of what is measured is done: what `later` had before, as caches filled, is forgotten
        uint32_t turns = 0;  ///< since it was entered
        double measured() const { return first + later; }
    };
    bool move(const Site& site, const Cost& cost, uint64_t clock, double cycles);
    bool go_on(const Site& site, const Cost& cost, uint64_t clock, double& cycles);
    void stand_in(const Site& site, uint16_t loop);
    void flush(uint64_t clock, double cycles);
    void settle(uint64_t clock, double& cycles);
    double cycles_of(double instructions);
    bool may_leave_out(const OfLoop& loop) const;
    void measure_again(const Cost& cost, double cycles);

    CostTable* costs_;
    WorkOfLoops* work_;
    double budget_;
    const Chunk* chunk_ = nullptr;
    const Loops* loops_ = nullptr;
    std::vector<std::vector<OfLoop>> seen_;  ///< by chunk and loop
    LoopWork* work_here_ = nullptr;
    OfLoop* here_ = nullptr;
    uint16_t loop_ = 0;
    uint64_t clock_ = 0;  ///< instructions up to which all is counted
    double cycles_ = 0;   ///< and cycles
    double measured_ = 0, measured_cycles_ = 0;
    bool left_out_ = false, to_the_end_ = false;
    uint16_t around_ = 0;    ///< the loop whose further turns are left out
    double first_left_ = 0;  ///< instructions to come of the first turn of a loop that was entered meanwhile
};

}  // namespace strata::emu
