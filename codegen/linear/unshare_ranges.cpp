// unshare_ranges: reductions that become one loop keep their range; others that use the same range get their own.
//
// Before  sum(x[r0] - max(x[r0] over r0) over r0): two loops, one range
// After   sum(x[r3] - max(x[r0] over r0) over r3)
// Runs before lower_reduces, which makes one loop of the reductions that list one range.
#include <algorithm>
#include <map>

#include "strata/codegen/linear/loop_key_p.h"
#include "strata/codegen/linear/passes_p.h"

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
    UOpMap<UOp> rebuilt;
    std::vector<UOp> sources;
    auto stops = [&](UOp u) {
        return closes_ranges(u) &&
               std::any_of(u.src().begin() + 1, u.src().end(), [&](UOp r) { return names.contains(r); });
    };
    for (UOp u : toposort(root)) {
        if (auto found = names.find(u); found != names.end()) {
            rebuilt[u] = found->second;
        } else if (stops(u)) {
            rebuilt[u] = u;
        } else {
            sources.clear();
            for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
            rebuilt[u] = u.with_src(sources);
        }
    }
    return rebuilt.at(root);
}

}  // namespace

UOp unshare_ranges(UOp sink) {
    Scopes scopes(sink);
    LoopKeys keys(scopes);
    std::map<LoopKey, UOpMap<UOp>> names;  // per loop, for the ranges another loop has already
    // A group range is a thread's number: the same in all loops.
    RangeSet taken = 0, serial = scopes.with_axis({Axis::loop, Axis::reduce});
    int next_id = scopes.ranges().empty() ? 0 : range_arg(scopes.ranges().back()).id + 1;
    bool shared = false;
    for (UOp u : keys.order()) {
        if (!u.is(Op::reduce)) continue;
        auto [entry, is_new] = names.try_emplace(keys.key(u));
        if (!is_new) continue;
        for (UOp r : scopes.list(scopes.closed_by(u) & taken)) {
            const RangeArg& arg = range_arg(r);
            entry->second[r] = make(Op::range, dtypes::index, {}, RangeArg{next_id++, arg.size, arg.axis});
            shared = true;
        }
        taken |= scopes.closed_by(u) & serial;
    }
    if (!shared) return sink;
    UOpMap<UOp> rebuilt;
    std::vector<UOp> sources;
    for (UOp u : scopes.order()) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
        UOp next = u.with_src(sources);
        if (u.is(Op::reduce))
            if (const UOpMap<UOp>& own = names.at(keys.key(u)); !own.empty()) {
                sources = renamed_sources(next, own);
                sources[0] = rename_free(next.src(0), own);
                next = next.with_src(sources);
            }
        rebuilt[u] = next;
    }
    return rebuilt.at(sink);
}

}  // namespace strata::codegen
