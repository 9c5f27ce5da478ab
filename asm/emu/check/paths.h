#pragma once
#include <optional>
#include <vector>

#include "strata/asm/emu/check/access_table.h"
#include "strata/asm/lint/hazards.h"
#include "strata/asm/lint/waits.h"

namespace strata::emu {

/// State of the distance rules (operations in flight and traces of past instructions) on all paths of a thread's waves.
/// Waves come to a straight run in the same few states again and again. Each state is kept once, and a run that was met
/// in a state before leads on by a look-up.
class Paths {
  public:
    struct State {
        lint::Outstanding outstanding;
        lint::Recent recent;
        bool operator==(const State&) const = default;
    };
    /// Where a wave is: in a state that is kept, or in one of its own.
    struct Place {
        uint32_t state = 0;
        std::optional<State> own = {};
    };

    Paths(const Program& program, const lint::Recent& nothing_near);
    /// The wave is at a run; `first`: of its instructions, or of hints before it. True: nothing is wrong along it, and
    /// the wave is now after it.
    bool pass(Place& place, const Chunk& chunk, const AccessTable::OfChunk& table, const Run& run, uint32_t first) {
        const size_t at = edges_at(run, first);
        if (!place.own && at < taken_.size() && taken_[at].from == place.state) [[likely]]
            return take(place, taken_[at].to);
        return look_up(place, chunk, table, run, first);
    }
    /// The wave is at an instruction: finds what that does wrong.
    void step(Place& place, const lint::Step& step, const Checked& checked, lint::Findings& found);

  private:
    static constexpr size_t kMostEdges = 32;
    static constexpr uint32_t kWrong = ~0u;  ///< something is wrong on the way
    struct Edge {
        uint32_t from, to;
    };
    using Edges = std::vector<Edge>;

    static size_t edges_at(const Run& run, uint32_t first) { return 2 * size_t{run.id} + (first != run.first); }
    static bool take(Place& place, uint32_t to) {
        if (to == kWrong) return false;
        place.state = to;
        place.own.reset();
        return true;
    }
    bool look_up(Place& place, const Chunk& chunk, const AccessTable::OfChunk& table, const Run& run, uint32_t first);
    bool pass_slowly(Place& place, const Chunk& chunk, const AccessTable::OfChunk& table, const Run& run,
                     uint32_t first);
    uint32_t keep(Edges& edges, State state);

    std::vector<State> states_;
    std::vector<Edges> edges_;  ///< by run, twice: after hints, or not
    std::vector<Edge> taken_;   ///< that of them which a wave took last; from kWrong: none
};

}  // namespace strata::emu
