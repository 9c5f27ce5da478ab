#include "strata/codegen/linear/scopes.h"

#include <algorithm>

namespace strata::codegen {

Scopes::Scopes(UOp sink) : order_(toposort(sink)), numbers_(order_.size()), free_(order_.size()) {
    for (UOp u : order_) {
        numbers_.add(u);
        if (u.is(Op::range)) ranges_.push_back(u);
    }
    STRATA_CHECK(ranges_.size() <= kMaxRanges, "{} ranges in a kernel; the most is {}", ranges_.size(), kMaxRanges);
    std::sort(ranges_.begin(), ranges_.end(), [](UOp a, UOp b) { return range_arg(a).id < range_arg(b).id; });
    for (size_t i = 0; i < ranges_.size(); ++i) free_[numbers_.find(ranges_[i])] = RangeSet{1} << i;
    for (size_t i = 0; i < order_.size(); ++i) {
        const UOp u = order_[i];
        if (u.is(Op::range)) continue;
        RangeSet set = 0;
        for (UOp s : u.src()) set |= free(s);
        free_[i] = set & ~closed_by(u);
    }
}

RangeSet Scopes::bit(UOp range) const {
    STRATA_CHECK(range.is(Op::range), "a range was expected, got {}", to_string(range));
    return free(range);
}

RangeSet Scopes::closed_by(UOp u) const {
    RangeSet set = 0;
    if (closes_ranges(u))
        for (UOp r : u.src().subspan(1))
            if (r.is(Op::range)) set |= bit(r);
    return set;
}

RangeSet Scopes::with_axis(std::initializer_list<Axis> axes) const {
    RangeSet set = 0;
    for (UOp r : ranges_)
        if (std::find(axes.begin(), axes.end(), range_arg(r).axis) != axes.end()) set |= bit(r);
    return set;
}

std::vector<UOp> Scopes::list(RangeSet set) const {
    std::vector<UOp> out;
    for (size_t i = 0; i < ranges_.size(); ++i)
        if (set >> i & 1) out.push_back(ranges_[i]);
    return out;
}

}  // namespace strata::codegen
