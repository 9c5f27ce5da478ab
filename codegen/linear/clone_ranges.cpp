// clone_ranges: reductions that become one loop keep their range. Others that use the same range get their own, and all
// do where an end walks it.
//
// Before  sum(x[r0] - max(x[r0] over r0) over r0): two loops, one range
// After   sum(x[r3] - max(x[r0] over r0) over r3)
// A reduction within x[r0] is then one within x[r3] too, over ranges of its own again.
// Runs before lower_reduces, which makes one loop of the reductions that list one range.
#include <algorithm>
#include <map>

#include "strata/codegen/linear/loop_key_p.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// The ranges of an end or reduce with their replacements.
std::vector<UOp> renamed_sources(UOp u, const UOpMap<UOp>& names) {
    std::vector<UOp> sources(u.src().begin(), u.src().end());
    for (UOp& s : sources)
        if (auto found = names.find(s); found != names.end()) s = found->second;
    return sources;
}

/// Renames free ranges in `root`; a reduction inside that closes one of them itself keeps it.
UOp rename_free(UOp root, const UOpMap<UOp>& names) {
    auto stops = [&](UOp u) {
        return closes_ranges(u) &&
               std::any_of(u.src().begin() + 1, u.src().end(), [&](UOp r) { return names.contains(r); });
    };
    return rebuild(root, [&](UOp u, std::span<const UOp> sources) {
        if (auto found = names.find(u); found != names.end()) return found->second;
        return stops(u) ? u : u.with_src(sources);
    });
}

/// One step. Where a range became two, the ranges inside of its loop must become two in the next step.
UOp unshared(const Scopes& scopes) {
    LoopKeys keys(scopes);
    std::map<LoopKey, UOpMap<UOp>> names;  // per loop, for the ranges another loop has already
    // A group range is a thread's number: the same in all loops.
    const RangeSet serial = scopes.with_axis({Axis::loop, Axis::reduce});
    RangeSet taken = 0;
    for (UOp u : scopes.order())
        if (u.is(Op::end)) taken |= scopes.closed_by(u) & serial;
    int next_id = scopes.ranges().empty() ? 0 : range_arg(scopes.ranges().back()).id + 1;
    bool shared = false;
    for (UOp u : keys.order()) {
        if (!u.is(Op::reduce)) continue;
        auto [entry, is_new] = names.try_emplace(keys.key(u));
        if (!is_new) continue;
        for (UOp r : scopes.list(scopes.closed_by(u) & taken)) {
            const RangeArg& arg = range_arg(r);
            entry->second[r] = uop::range(arg.size, next_id++, arg.axis);
            shared = true;
        }
        taken |= scopes.closed_by(u) & serial;
    }
    if (!shared) return scopes.order().back();
    return rebuild(scopes.order(), [&](UOp u, std::vector<UOp>& sources) {
        UOp next = u.with_src(sources);
        if (!u.is(Op::reduce)) return next;
        const UOpMap<UOp>& own = names.at(keys.key(u));
        if (own.empty()) return next;
        sources = renamed_sources(next, own);
        sources[0] = rename_free(next.src(0), own);
        return next.with_src(sources);
    });
}

}  // namespace

Result<UOp> clone_ranges(UOp sink, Context& context) {
    while (true) {
        const UOp next = unshared(context.scopes(sink));
        if (next == sink) return sink;
        sink = next;
    }
}

}  // namespace strata::codegen
