// in_place: which inputs of a kernel may be its outputs too, though it says of its parameters that they are apart.
//
// A value that is stored at an offset is made of what was loaded there, so that the load comes first; no other thread touches the
// element. Loads for reductions are those of many threads, but for rows: a thread has the same elements of one in each walk.
#include "strata/codegen/kernel/in_place.h"

#include <algorithm>
#include <unordered_set>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp memory_of(UOp access) { return access.src(0).src(0); }
UOp offset_of(UOp access) { return access.src(0).src(1); }

/// What reductions are made of, unless they are all of rows that the end walks.
std::unordered_set<UOp, UOpHash> below_reductions(std::span<const UOp> nodes) {
    std::unordered_set<UOp, UOpHash> ended, below;
    for (UOp u : nodes)
        if (u.is(Op::end)) ended.insert(u.src().begin() + 1, u.src().end());
    const bool rows = std::ranges::all_of(nodes, [&](UOp u) {
        return !u.is(Op::reduce) ||
               std::ranges::all_of(u.src().subspan(1), [&](UOp range) { return ended.contains(range); });
    });
    if (rows) return below;
    for (auto u = nodes.rbegin(); u != nodes.rend(); ++u)
        if (u->is(Op::reduce) || below.contains(*u)) below.insert(u->src().begin(), u->src().end());
    return below;
}

}  // namespace

std::vector<InPlace> in_place(UOp sink) {
    const std::vector<UOp> nodes = toposort(sink);
    std::vector<InPlace> found;
    if (std::ranges::any_of(nodes, [](UOp u) { return u.is(Op::scan); })) return found;
    const std::unordered_set<UOp, UOpHash> below = below_reductions(nodes);
    for (UOp store : nodes) {
        if (!store.is(Op::store)) continue;
        const std::vector<UOp> made_of = toposort(store.src(1));
        const std::unordered_set<UOp, UOpHash> earlier(made_of.begin(), made_of.end());
        UOpMap<bool> fits;  // by input
        for (UOp load : nodes) {
            if (!load.is(Op::load)) continue;
            const bool same = offset_of(load) == offset_of(store) && earlier.contains(load) && !below.contains(load);
            fits.try_emplace(memory_of(load), true).first->second &= same;
        }
        for (auto [input, fit] : fits)
            if (fit && input.as<ParamArg>().size == memory_of(store).as<ParamArg>().size &&
                input.dtype().bytes() == memory_of(store).dtype().bytes())
                found.push_back({memory_of(store).as<ParamArg>().slot, input.as<ParamArg>().slot});
    }
    std::ranges::sort(found, {}, [](const InPlace& pair) { return std::pair(pair.output, pair.input); });
    return found;
}

}  // namespace strata::codegen
