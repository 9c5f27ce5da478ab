#pragma once
#include "strata/core/uop/places.h"
#include "strata/core/uop/uop_map.h"

namespace strata {

// Going through graphs and making new ones of them.

/// Sources before users, each node once; stops at nodes for which `stop` is true (they are listed).
std::vector<UOp> toposort(UOp root, bool (*stop)(UOp) = nullptr);

/// Rebuilds a graph, bottom up. `f(u, sources)` gives the replacement of `u`, whose sources became `sources` (a vector
/// that f may change). u.with_src(sources) keeps it as it is. `order` lists sources before users, what the result is
/// made of last. `rebuilt` says what has become of each node so far.
template <class F>
UOp rebuild(std::span<const UOp> order, UOpMap<UOp>& rebuilt, F f) {
    std::vector<UOp> sources;
    for (UOp u : order) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
        const AtPlaceOf place(u);
        rebuilt[u] = f(u, sources);
    }
    return rebuilt.at(order.back());
}
template <class F>
UOp rebuild(std::span<const UOp> order, F f) {
    UOpMap<UOp> rebuilt;
    return rebuild(order, rebuilt, f);
}
template <class F>
UOp rebuild(UOp root, F f) {
    return rebuild(toposort(root), f);
}

/// Replaces nodes by others, bottom up, rebuilding what uses them.
UOp substitute(UOp root, const UOpMap<UOp>& replacements);

bool depends_on(UOp u, UOp source);  ///< u itself, or what it is made of, is `source`
/// Those of an order, sources before users, that depend on `source`, in one walk.
UOpMap<bool> dependents(std::span<const UOp> order, UOp source);

// Tensor graphs.
/// The value under movement ops: padding, whose zeros are nowhere in memory, is a value of its own.
UOp below_views(UOp u);
/// The buffer whose contents are the tensor, row by row; empty: it is none, or a part.
UOp whole_buffer(UOp view);
/// The buffer that a tensor in memory is part of: below movement ops and what custom kernels filled.
UOp buffer_under(UOp view);

// Kernels.
/// The value or pointer below `after` nodes.
UOp skip_after(UOp u);
/// The parameter under an index, or under that of a load, a store, an atomic, or what an async_copy fills.
UOp memory_of(UOp access);
bool writes_memory(UOp u);      ///< a store, an atomic or an async_copy, of memory_of(u)
bool closes_ranges(UOp u);      ///< an end, reduce or contract: its sources from 1 on are ranges
bool closes(UOp u, UOp range);  ///< u is such a node, and the range one of its
bool lists_ranges(UOp u);       ///< closes them, or is a scan, whose ranges stay open
const RangeArg& range_arg(UOp range);
std::vector<UOp> ranges(UOp sink);  ///< every range of a kernel, in order of ids
int next_range_id(UOp sink);        ///< above those of all ranges

}  // namespace strata
