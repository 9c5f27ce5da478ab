// merge_ranges: neighbouring ranges that every expression uses as one are made one.
//
// Before  (r0 * 256 + r1) with r0 < 64, r1 < 256
// After   r0 with r0 < 16384
// Runs last in build_kernel: fewer, longer ranges give the schedule actions more freedom and the text fewer loops.
#include <algorithm>

#include "strata/codegen/kernel/build.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

int division_count(UOp sink) {
    int n = 0;
    for (UOp u : toposort(sink)) n += u.dtype().scalar == Scalar::index && (u.is(Op::idiv) || u.is(Op::mod));
    return n;
}

/// The node that lists both ranges one after the other, or empty.
UOp closer_of(UOp sink, UOp a, UOp b) {
    for (UOp u : toposort(sink)) {
        if (!closes_ranges(u)) continue;
        auto at = std::find(u.src().begin() + 1, u.src().end(), a);
        if (at != u.src().end() && at + 1 != u.src().end() && at[1] == b) return u;
    }
    return UOp();
}

/// The sink with ranges a and b as one, or empty where something lists only one of them.
UOp merged(UOp sink, UOp a, UOp b) {
    const RangeArg &ra = range_arg(a), &rb = range_arg(b);
    UOp joined = uop::range(ra.size * rb.size, ra.id, ra.axis);
    bool apart = false;
    UOp next = rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (u == a) return joined / rb.size;
        if (u == b) return joined % rb.size;
        if (!lists_ranges(u)) return u.with_src(sources);
        size_t i = static_cast<size_t>(std::find(u.src().begin() + 1, u.src().end(), a) - u.src().begin());
        bool first = i < u.src().size(), second = std::find(u.src().begin() + 1, u.src().end(), b) != u.src().end();
        if (!first && !second) return u.with_src(sources);
        if (!first || i + 1 == u.src().size() || u.src(i + 1) != b) {
            apart = true;
            return u;
        }
        sources[i] = joined;
        sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return u.with_src(sources);
    });
    return apart ? UOp() : simplify(next);
}

}  // namespace

UOp merge_ranges(UOp sink) {
    sink = simplify(sink);
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<UOp> ranges = strata::ranges(sink);
        int before = division_count(sink);
        for (size_t i = 0; i + 1 < ranges.size() && !changed; ++i) {
            UOp a = ranges[i], b = ranges[i + 1];
            if (range_arg(a).axis != range_arg(b).axis || !closer_of(sink, a, b)) continue;
            UOp next = merged(sink, a, b);
            if (!next || division_count(next) > before) continue;
            sink = next;
            changed = true;
        }
    }
    return sink;
}

}  // namespace strata::codegen
