#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"

// Distances that code must keep by itself: hazards.def, a row a rule, with its source.
namespace strata::lint {

enum class Leaves : uint8_t;

/// The remedy for a distance that is too short: a row of hazards.def has one.
enum class Fix : uint8_t { nops, another, vector_nop, vector_move, vdst_wait, sdst_wait };

/// The remedy that an instruction lacks before it.
struct Lack {
    Fix fix{};
    int missing = 0;  ///< ticks of the rule's clock
};

/// The instructions after a place of the code that a rule may still look at. One path's, or with join() the nearest of
/// several paths'. A branch that is taken is two wait states: LLVM counts an s_branch after it, which does not run.
class Recent {
  public:
    /// `replays`: memory instructions may run again after a page fault (XNACK).
    Recent(isa::Arch arch, int wave_size, bool replays = false);
    /// Facts of an instruction that the rules need wherever it runs.
    struct Known {
        uint64_t is = 0;  ///< classes::Bit bits
        /// Rules that it is a consumer of, a producer of, and whose producers it takes registers over from.
        uint64_t consumed_by = 0, produced_by = 0, kind_of = 0;
        uint8_t events = 0, states = 0, passes = 0;
        bool leaves_function = false;  ///< a call, or a jump that may be a return
    };
    Known know(const isa::Inst& inst, const Access& access) const;
    /// The instruction runs: finds rules that it breaks with those before it.
    void step(const Step& step, const Known& known, Findings& found);
    void step(const Step& step, Findings& found) { this->step(step, know(*step.inst, *step.access), found); }
    /// The remedy for the rule that the instruction would break worst.
    std::optional<Lack> lacks(const Step& step, const Known& known);
    bool join(const Recent& other);
    bool operator==(const Recent&) const = default;
    bool idle() const { return traces_.empty(); }  ///< whether nothing is near

  private:
    /// The trace of an instruction that rules look at: a set of registers, or only that it ran.
    struct Trace {
        uint64_t pc = 0;
        uint64_t next = 0;      ///< after the last instruction: another one comes by a branch that is taken
        uint64_t rules = 0;     ///< bit i: row i of hazards.def
        Registers registers{};  ///< those that no later instruction of the kind took over
        Registers whole{};      ///< all
        const isa::Row* row = nullptr;
        Leaves leaves{};
        uint8_t passes = 0, states = 0, valus = 0, trans = 0;  ///< since then
        bool doubles = false, exec = false;  ///< a product of doubles came since, a scalar write of EXEC
        bool operator==(const Trace&) const = default;
    };
    struct Broken;
    struct Now : Known {
        Now(const Step& step, const Known& known) : Known(known), step(step), inst(*step.inst), access(*step.access) {}
        const Step& step;
        const isa::Inst& inst;
        const Access& access;
    };

    static int past(size_t rule, const Trace& trace);
    int needed(size_t rule, const Trace& trace, const Now& now) const;
    bool meets(size_t rule, const Trace& trace, const Now& now) const;
    bool forwards(const Trace& pair, const Now& now) const;
    void arrive(uint64_t pc);
    Broken worst(const Now& now) const;
    void check(const Now& now, Findings& found) const;
    void age(const Now& now);
    void leave(const Now& now);
    void leave(const Now& now, Leaves leaves, const Registers& registers);
    void supersede(const Now& now, Leaves leaves, const Registers& registers);
    void leave_pairs(const Now& now, const Registers& registers);
    bool rewrites_mask(const Registers& registers) const;

    isa::Arch arch_;
    uint64_t rules_ = 0;  ///< those of the arch and the wave
    std::vector<Trace> traces_;
};

/// At the start of a kernel. Compilers assume that page faults replay unless an option says otherwise.
inline Recent recent_for(isa::Arch arch, int wave_size, bool faults_replay = true) {
    return {arch, wave_size, faults_replay && isa::is_cdna(isa::info(arch).family)};
}

}  // namespace strata::lint
