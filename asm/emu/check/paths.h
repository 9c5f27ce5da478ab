#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/asm/emu/check/access_table.h"

namespace strata::emu {

/// What instructions leave behind them for the rules of distance, along the ways of all waves of a thread. Waves come by
/// the same few states again and again: each is kept once, and an instruction that was met in a state before leads on by a
/// look-up.
class Paths {
  public:
    /// Where a wave is: in a state that is kept, or in one of its own behind an instruction that is met in too many.
    struct Place {
        uint32_t state = 0;
        std::optional<lint::Recent> own = {};
    };

    explicit Paths(const Program& program) : states_{lint::recent_for(program.arch(), program.wave_size())} {}
    /// The instruction runs there: finds what it does wrong.
    void step(Place& place, const Chunk& chunk, uint32_t index, const lint::Step& step, const Checked& checked,
              lint::Findings& found) {
        if (chunk_ != &chunk) look_at(chunk);
        std::vector<Edge>& edges = (*edges_)[index];
        if (!place.own)
            for (const Edge& edge : edges)
                if (edge.from == place.state) return void(place.state = edge.to);
        follow(place, step, checked, found, edges);
    }

  private:
    static constexpr size_t kMostEdges = 8;
    struct Edge {
        uint32_t from, to;
    };
    using Edges = std::vector<std::vector<Edge>>;  ///< by instruction

    void look_at(const Chunk& chunk);
    void follow(Place& place, const lint::Step& step, const Checked& checked, lint::Findings& found,
                std::vector<Edge>& edges);

    std::vector<lint::Recent> states_;
    std::unordered_map<const Chunk*, Edges> by_chunk_;
    const Chunk* chunk_ = nullptr;
    Edges* edges_ = nullptr;
};

}  // namespace strata::emu
