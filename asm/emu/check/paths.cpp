#include "strata/asm/emu/check/paths.h"

#include <algorithm>

namespace strata::emu {

void Paths::look_at(const Chunk& chunk) {
    chunk_ = &chunk;
    edges_ = &by_chunk_[&chunk];
    edges_->resize(chunk.insts.size());
}

/// A step that was not taken before. What an instruction leaves is one of the states that it left before, if any; one that
/// finds something is taken anew each time, so that it counts.
void Paths::follow(Place& place, const lint::Step& step, const Checked& checked, lint::Findings& found,
                   std::vector<Edge>& edges) {
    const bool kept = !place.own;
    lint::Recent recent = kept ? states_[place.state] : *std::move(place.own);
    const uint64_t before = found.made();
    recent.step(step, checked.rules, found);
    const auto known = std::ranges::find_if(edges, [&](const Edge& edge) { return states_[edge.to] == recent; });
    if (known == edges.end() && edges.size() >= kMostEdges) {
        place.own = std::move(recent);
        return;
    }
    const uint32_t to = known != edges.end() ? known->to : static_cast<uint32_t>(states_.size());
    if (known == edges.end()) states_.push_back(std::move(recent));
    if (kept && found.made() == before && edges.size() < kMostEdges) edges.push_back({place.state, to});
    place = {to, {}};
}

}  // namespace strata::emu
