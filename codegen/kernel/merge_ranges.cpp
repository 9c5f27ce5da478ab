// merge_ranges: neighbouring ranges that every expression uses as one are made one.
//
// Before  (r0 * 256 + r1) with r0 < 64, r1 < 256
// After   r0 with r0 < 16384
// Runs last in build_kernel: fewer, longer ranges give the schedule actions more freedom and the text fewer loops.
#include <algorithm>

#include "strata/codegen/kernel/build.h"
#include "strata/core/symbolic/symbolic.h"

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
        if (!u.is(Op::end) && !u.is(Op::reduce)) continue;
        auto at = std::find(u.src().begin() + 1, u.src().end(), a);
        if (at != u.src().end() && at + 1 != u.src().end() && at[1] == b) return u;
    }
    return UOp();
}

/// The sink with ranges a and b as one, or empty where some closer lists only one of them.
UOp merged(UOp sink, UOp a, UOp b) {
    const RangeArg &ra = a.as<RangeArg>(), &rb = b.as<RangeArg>();
    UOp joined = make(Op::range, dtypes::index, {}, RangeArg{ra.id, ra.size * rb.size, ra.axis});
    UOpMap<UOp> rebuilt{{a, joined / rb.size}, {b, joined % rb.size}};
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        if (rebuilt.contains(u)) continue;
        bool closes = u.is(Op::end) || u.is(Op::reduce);
        sources.clear();
        for (size_t i = 0; i < u.src().size(); i++) {
            UOp s = u.src()[i];
            if (closes && i > 0 && s == a) {
                if (i + 1 >= u.src().size() || u.src()[i + 1] != b) return UOp();
                sources.push_back(joined);
                i++;
            } else if (closes && i > 0 && s == b) {
                return UOp();
            } else {
                sources.push_back(closes && i > 0 ? s : rebuilt.at(s));
            }
        }
        rebuilt[u] = u.with_src(sources);
    }
    return simplify(rebuilt.at(sink));
}

std::vector<UOp> ranges_of(UOp sink) {
    std::vector<UOp> ranges;
    for (UOp u : toposort(sink))
        if (u.is(Op::range)) ranges.push_back(u);
    std::sort(ranges.begin(), ranges.end(), [](UOp a, UOp b) { return a.as<RangeArg>().id < b.as<RangeArg>().id; });
    return ranges;
}

}  // namespace

UOp merge_ranges(UOp sink) {
    sink = simplify(sink);
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<UOp> ranges = ranges_of(sink);
        int before = division_count(sink);
        for (size_t i = 0; i + 1 < ranges.size() && !changed; i++) {
            UOp a = ranges[i], b = ranges[i + 1];
            if (a.as<RangeArg>().axis != b.as<RangeArg>().axis || !closer_of(sink, a, b)) continue;
            UOp next = merged(sink, a, b);
            if (!next || division_count(next) > before) continue;
            sink = next;
            changed = true;
        }
    }
    return sink;
}

}  // namespace strata::codegen
