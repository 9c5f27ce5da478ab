#include "strata/asm/emu/check/paths.h"

#include <algorithm>

namespace strata::emu {
namespace {

void advance(Paths::State& state, const lint::Step& step, const Checked& checked, lint::Findings& found) {
    if (checked.starts_or_waits || !state.outstanding.idle()) state.outstanding.step(step, found);
    state.recent.step(step, checked.rules, found);
}

}  // namespace

Paths::Paths(const Program& program, const lint::Recent& nothing_near)
    : states_{{lint::Outstanding(program.arch()), nothing_near}} {}

void Paths::step(Place& place, const lint::Step& step, const Checked& checked, lint::Findings& found) {
    if (!place.own) place.own = states_[place.state];
    advance(*place.own, step, checked, found);
}

/// The number of a state that a run leads to: that of one it led to before, if they are the same.
uint32_t Paths::keep(Edges& edges, State state) {
    for (const Edge& edge : edges)
        if (edge.to != kWrong && states_[edge.to] == state) return edge.to;
    states_.push_back(std::move(state));
    return static_cast<uint32_t>(states_.size() - 1);
}

/// By all ways that are known.
bool Paths::look_up(Place& place, const Chunk& chunk, const AccessTable::OfChunk& table, const Run& run,
                    uint32_t first) {
    const size_t at = edges_at(run, first);
    if (place.own || at >= edges_.size()) return pass_slowly(place, chunk, table, run, first);
    for (const Edge& edge : edges_[at])
        if (edge.from == place.state) return take(place, (taken_[at] = edge).to);
    return pass_slowly(place, chunk, table, run, first);
}

bool Paths::pass_slowly(Place& place, const Chunk& chunk, const AccessTable::OfChunk& table, const Run& run,
                        uint32_t first) {
    const size_t at = edges_at(run, first);
    if (at >= edges_.size()) edges_.resize(at + 64), taken_.resize(at + 64, {kWrong, kWrong});
    Edges& edges = edges_[at];
    for (const Edge& edge : edges)
        if (place.own && states_[edge.from] == *place.own) return take(place, edge.to);
    State state = place.own ? *place.own : states_[place.state];
    lint::Findings found;
    for (uint32_t i = first; i <= run.last; ++i) {
        const Checked& checked = table.instructions[i];
        if (chunk.insts[i].row) advance(state, {chunk.pcs[i], &chunk.insts[i], &checked.access}, checked, found);
    }
    if (edges.size() < kMostEdges) {
        if (place.own) {
            place.state = static_cast<uint32_t>(states_.size());
            states_.push_back(*std::move(place.own));
            place.own.reset();
        }
        const uint32_t to = found.empty() ? keep(edges, std::move(state)) : kWrong;
        edges.push_back({place.state, to});
        return take(place, to);
    }
    if (found.empty()) place.own = std::move(state);
    return found.empty();
}

}  // namespace strata::emu
