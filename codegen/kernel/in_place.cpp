// in_place: in-place outputs. Which outputs of a kernel may be in the memory of an input that nothing reads afterwards.
//
// For each element of the input there are three things to prove:
// 1. its loads are part of the value that is stored there, so that no compiler moves the store before them: `earlier`.
//    Where others need the loads too (a sum or another output), the value must not lose them where a condition is
//    known: `surely_in`. Loads that others have outside of reductions, the value has outside of them too;
// 2. the thread that stores it is the only one that loads it, and no later step of a loop loads it. The offsets are the
//    same ranges. Others of its group may load it for nothing, but go to no address that it says;
// 3. a reduction that reads it is done before. Either none reads it, or the reduction is of a row, of which a thread
//    has the same elements in each walk. Loops over rows are inside all others (finish_ids in last_block.cpp).
// verify_in_place (codegen/linear) proves it again from the accesses of the program that runs.
#include "strata/codegen/kernel/in_place.h"

#include <algorithm>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

UOp offset_of(UOp access) { return access.src(0).src(1); }

/// Nodes below reductions, unless all of these are over rows that the end walks.
UOpSet below_reductions(std::span<const UOp> nodes) {
    UOpSet ended, below;
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

/// Loads and reductions that a value uses whatever its conditions turn out to be. A condition known for some elements
/// leaves the other choice out. With those that its reductions are made of, or without.
UOpSet surely_in(UOp value, bool through_reductions) {
    const std::vector<UOp> order = toposort(value);
    std::vector<UOp> asked;
    for (UOp u : order)
        if (u.is(Op::load) || u.is(Op::reduce)) asked.push_back(u);
    UOpMap<std::vector<bool>> sure;  // by node, of those that are asked for
    for (UOp u : order) {
        std::vector<bool> own(asked.size());
        const bool floats = !u.src().empty() && u.src(0).dtype().is_float();
        const bool may_fold = u.is(Op::where) || (info(u.op()).elementwise() && !floats);
        const bool known_test = u.is(Op::where) && info(u.src(0).op()).elementwise() && !u.src(0).src().empty() &&
                                u.src(0).src(0).dtype().is_float();  // a comparison of floats
        for (size_t i = 0; i < asked.size(); ++i) {
            const auto has = [&](UOp s) { return bool(sure.at(s)[i]); };
            const std::span<const UOp> choices = u.src().subspan(u.is(Op::where) ? 1 : 0);
            if (u.is(Op::reduce) && !through_reductions) {
                own[i] = u == asked[i];
                continue;
            }
            const bool in_all = !choices.empty() && std::ranges::all_of(choices, has);
            own[i] = u == asked[i] || in_all || (!may_fold && std::ranges::any_of(choices, has)) ||
                     (known_test && has(u.src(0)));
        }
        sure.emplace(u, std::move(own));
    }
    UOpSet found;
    for (size_t i = 0; i < asked.size(); ++i)
        if (sure.at(value)[i]) found.insert(asked[i]);
    return found;
}

/// Nodes that the sink reaches without passing a reduction. A load inside a reduction as well is cloned there
/// (clone_ranges).
UOpSet outside_of_reductions(UOp sink) {
    UOpSet seen{sink};
    std::vector<UOp> stack{sink};
    while (!stack.empty()) {
        const UOp u = stack.back();
        stack.pop_back();
        if (u.is(Op::reduce)) continue;
        for (UOp s : u.src())
            if (seen.insert(s).second) stack.push_back(s);
    }
    return seen;
}

/// Nodes below offsets and predicates. All threads of a group follow them, one of which stores: the others would where
/// it has stored.
UOpSet below_addresses(std::span<const UOp> nodes) {
    UOpSet below;
    for (auto u = nodes.rbegin(); u != nodes.rend(); ++u)
        for (size_t i = 0; i < u->src().size(); ++i)
            if (below.contains(*u) || (u->is(Op::index) && i > 0)) below.insert(u->src(i));
    return below;
}

/// The reductions of rows that each load is part of.
UOpMap<std::vector<UOp>> reductions_of(std::span<const UOp> nodes) {
    UOpMap<std::vector<UOp>> found;
    for (UOp u : nodes)
        if (u.is(Op::reduce))
            for (UOp below : toposort(u))
                if (below.is(Op::load)) found[below].push_back(u);
    return found;
}

}  // namespace

std::vector<executable::InPlace> in_place(UOp sink) {
    const std::vector<UOp> nodes = toposort(sink);
    std::vector<executable::InPlace> found;
    if (std::ranges::any_of(nodes, [](UOp u) { return u.is(Op::scan); })) return found;
    const UOpSet below = below_reductions(nodes);
    const UOpMap<std::vector<UOp>> reductions = reductions_of(nodes);
    const UOpSet outside = outside_of_reductions(sink), addresses = below_addresses(nodes);
    const bool several = std::ranges::count_if(nodes, [](UOp u) { return u.is(Op::store); }) > 1;
    for (UOp store : nodes) {
        if (!store.is(Op::store)) continue;
        const std::vector<UOp> made_of = toposort(store.src(1));
        const UOpSet earlier(made_of.begin(), made_of.end());
        const UOpSet sure = surely_in(store.src(1), true), by_itself = surely_in(store.src(1), false);
        UOpMap<bool> fits;  // by input
        for (UOp load : nodes) {
            if (!load.is(Op::load)) continue;
            const auto rows = reductions.find(load);
            const bool same = offset_of(load) == offset_of(store) && !below.contains(load) &&
                              !addresses.contains(load) && (several ? sure : earlier).contains(load) &&
                              (!several || !outside.contains(load) || by_itself.contains(load)) &&
                              (rows == reductions.end() ||
                               std::ranges::all_of(rows->second, [&](UOp row) { return sure.contains(row); }));
            fits.try_emplace(memory_of(load), true).first->second &= same;
        }
        for (auto [input, fit] : fits)
            if (fit && input.as<ParamArg>().size == memory_of(store).as<ParamArg>().size &&
                input.dtype().bytes() == memory_of(store).dtype().bytes())
                found.push_back({memory_of(store).as<ParamArg>().slot, input.as<ParamArg>().slot});
    }
    std::ranges::sort(found, {}, [](const executable::InPlace& pair) { return std::pair(pair.output, pair.input); });
    return found;
}

}  // namespace strata::codegen
