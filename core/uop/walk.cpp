#include "strata/core/uop/walk.h"

#include <algorithm>

#include "strata/core/uop/numbers.h"

namespace strata {

std::vector<UOp> toposort(UOp root, bool (*stop)(UOp)) {
    std::vector<UOp> order;
    NodeNumbers done;
    const auto is_done = [&](UOp u) { return done.find(u) != NodeNumbers::kNone; };
    std::vector<std::pair<UOp, size_t>> stack{{root, 0}};
    while (!stack.empty()) {
        auto& [u, next] = stack.back();
        if (next == 0 && is_done(u)) {
            stack.pop_back();
            continue;
        }
        if (next < u.src().size() && !(stop && stop(u))) {
            const UOp child = u.src()[next++];
            if (!is_done(child)) stack.emplace_back(child, 0);
            continue;
        }
        if (done.add(u) == order.size()) order.push_back(u);
        stack.pop_back();
    }
    return order;
}

UOp substitute(UOp root, const UOpMap<UOp>& replacements) {
    const std::vector<UOp> order = toposort(root);
    NodeNumbers numbers(order.size());
    std::vector<UOp> made, sources;
    made.reserve(order.size());
    for (UOp u : order) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(made[numbers.find(s)]);
        const auto found = replacements.find(u);
        numbers.add(u);
        made.push_back(found != replacements.end() ? found->second : u.with_src(sources));
    }
    return made.back();
}

bool depends_on(UOp u, UOp source) {
    for (UOp x : toposort(u))
        if (x == source) return true;
    return false;
}

UOpMap<bool> dependents(std::span<const UOp> order, UOp source) {
    UOpMap<bool> found;
    for (UOp u : order)
        if (u == source || std::ranges::any_of(u.src(), [&](UOp s) { return found.contains(s); })) found[u] = true;
    return found;
}

UOp below_views(UOp u) {
    while (info(u.op()).is(kMovement) && !u.is(Op::pad)) u = u.src(0);
    return u;
}

UOp whole_buffer(UOp view) {
    while (view.is(Op::reshape)) view = view.src(0);
    return view.is(Op::buffer) ? view : UOp();
}

UOp buffer_under(UOp view) {
    while (info(view.op()).is(kMovement) || view.is(Op::pick)) view = view.src(0);
    STRATA_CHECK(view.is(Op::buffer), "a view of a buffer was expected, got {}", to_string(view));
    return view;
}

UOp skip_after(UOp u) {
    while (u.is(Op::after)) u = u.src(0);
    return u;
}

bool closes_ranges(UOp u) { return u.is(Op::end) || u.is(Op::reduce) || u.is(Op::contract); }
bool closes(UOp u, UOp range) {
    return closes_ranges(u) && std::ranges::find(u.src().subspan(1), range) != u.src().end();
}
bool lists_ranges(UOp u) { return closes_ranges(u) || u.is(Op::scan); }
const RangeArg& range_arg(UOp range) { return range.as<RangeArg>(); }

std::vector<UOp> ranges(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::range)) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return range_arg(a).id < range_arg(b).id; });
    return found;
}

int next_range_id(UOp sink) {
    const std::vector<UOp> all = ranges(sink);
    return all.empty() ? 0 : range_arg(all.back()).id + 1;
}

}  // namespace strata
