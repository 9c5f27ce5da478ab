#include "strata/core/uop/scopes.h"

#include <algorithm>
#include <bit>

namespace strata {

Scopes::Scopes(std::vector<UOp> order)
    : order_(std::move(order)), numbers_(order_.size()), free_(order_.size()), bit_(order_.size()) {
    for (UOp u : order_) {
        numbers_.add(u);
        if (u.is(Op::range)) ranges_.push_back(u);
    }
    STRATA_CHECK(ranges_.size() <= kMaxRanges, "{} ranges in a kernel; the most is {}", ranges_.size(), kMaxRanges);
    std::ranges::sort(ranges_, {}, [](UOp r) { return range_arg(r).id; });
    for (size_t i = 0; i < ranges_.size(); ++i) bit_[numbers_.find(ranges_[i])] = RangeSet{1} << i;
    for (size_t i = 0; i < order_.size(); ++i) {
        RangeSet set = bit_[i];
        for (UOp s : order_[i].src()) set |= free(s);
        free_[i] = set & ~closed_by(order_[i]);
    }
}

RangeSet Scopes::bit(UOp range) const {
    STRATA_CHECK(range.is(Op::range), "a range was expected, got {}", to_string(range));
    return bit_.at(numbers_.find(range));
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
        if (std::ranges::find(axes, range_arg(r).axis) != axes.end()) set |= bit(r);
    return set;
}

std::vector<UOp> Scopes::list(RangeSet set) const {
    std::vector<UOp> out;
    for (size_t i = 0; i < ranges_.size(); ++i)
        if (set >> i & 1) out.push_back(ranges_[i]);
    return out;
}

double Scopes::steps(RangeSet set) const {
    double n = 1;
    for (; set; set &= set - 1)
        n *= static_cast<double>(range_arg(ranges_[static_cast<size_t>(std::countr_zero(set))]).size);
    return n;
}

UOpMap<bool> inside_of_loops(std::span<const UOp> order) {
    UOpMap<bool> found;
    for (UOp closing : order) {
        if (!closing.is(Op::end)) continue;
        UOpMap<bool> of_range;
        for (UOp u : order) {
            const bool is_inside =
                u == closing.src(1) || std::ranges::any_of(u.src(), [&](UOp s) { return of_range.contains(s); });
            if (is_inside && !closes(u, closing.src(1))) of_range[u] = found[u] = true;
        }
    }
    return found;
}

}  // namespace strata
