#include "strata/runtime/realize/fusion_search_p.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/core/support/disk_cache.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

using codegen::Fusion;

/// One way to fuse, all its kernels searched.
struct Tried {
    Fusion fusion;
    double ms = 0;
    std::vector<Searched> searches = {};
};

Tried tried(const GraphRequest& request, Fusion fusion) {
    Tried out{fusion};
    HeldNotes notes;
    GraphLoader loader(request);
    loader.load_and_run(fusion, [&](const codegen::CompiledGraph& graph, size_t step) {
        loader.try_out(graph, step);
        out.ms += loader.searched_ms(graph.executable.steps[step]);
    });
    out.searches = notes.take();
    return out;
}

/// The kernels of the steps, whatever their memory is.
std::vector<UOp> kernels_of(const GraphRequest& request, Fusion fusion) {
    const codegen::CompiledGraph graph = GraphLoader(request).schedule(fusion);
    std::vector<UOp> sinks;
    for (const executable::Step& step : graph.executable.steps)
        sinks.push_back(step.is_copy() ? UOp() : graph.kernels[step.kernel].kernel.sink);
    return sinks;
}

/// Those of different kernels.
std::vector<Fusion> ways_to_fuse(const GraphRequest& request) {
    std::vector<std::vector<UOp>> seen;
    std::vector<Fusion> ways;
    for (const Fusion fusion : {Fusion::cost, Fusion::more, Fusion::less}) {
        seen.push_back(kernels_of(request, fusion));
        if (std::ranges::find(seen, seen.back()) == std::prev(seen.end())) ways.push_back(fusion);
    }
    return ways;
}

}  // namespace

Fusion searched_fusion(const GraphRequest& request, const std::string& signature) {
    const bool searches = settings().beam && usual_fusion() == Fusion::cost;
    if (!searches || !DiskCache::of_settings().enabled()) return usual_fusion();
    const SearchKey key = search_key(request.device, signature);
    if (const auto record = find_record(key); record && record->beam >= settings().beam)
        return codegen::parse_fusion(record->schedule).value_or(Fusion::cost);
    if (!request.is_tuned) return Fusion::cost;
    const std::vector<Fusion> ways = ways_to_fuse(request);
    if (ways.size() < 2) return Fusion::cost;
    constexpr double kWorthIt = 0.99;
    std::vector<Tried> all;
    for (const Fusion fusion : ways) all.push_back(tried(request, fusion));
    const Tried* best = &all.front();
    for (const Tried& one : all)
        if (one.ms < best->ms * kWorthIt) best = &one;
    for (const Searched& searched : best->searches) note(searched);
    keep_record(key, {.kernel = "a graph",
                      .schedule = std::string(to_string(best->fusion)),
                      .heuristic_ms = all.front().ms,
                      .best_ms = best->ms,
                      .beam = settings().beam});
    if (settings().debug >= 1)
        for (const Tried& one : all)
            fmt::print(stderr, "fusion {}: {:.4f} ms{}\n", to_string(one.fusion), one.ms,
                       &one == best ? ", taken" : "");
    return best->fusion;
}

}  // namespace strata::runtime
