// Where the loads and stores of a kernel go: how far they move with each range, and where the lanes of a wave are.
#include "strata/codegen/optimize/accesses_p.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace strata::codegen {
namespace {

/// Elements from which on lanes are no worse apart: those of a cache line.
constexpr int64_t kFarApart = 32;

int64_t applied(Op op, int64_t a, int64_t b) {
    switch (op) {
        case Op::add: return a + b;
        case Op::sub: return a - b;
        case Op::mul: return a * b;
        case Op::idiv: return b ? a / b : 0;
        case Op::mod: return b ? a % b : 0;
        case Op::max: return std::max(a, b);
        case Op::min: return std::min(a, b);
        case Op::cmplt: return a < b;
        case Op::bit_and: return a & b;
        case Op::bit_xor: return a ^ b;
        default: return 0;
    }
}

/// Ranges of threads, the one that moves from lane to lane first (codegen/linear/arrange_threads.cpp).
std::vector<size_t> threads_in_order(const Nest& nest, const std::vector<Access>& accesses) {
    std::vector<size_t> threads;
    std::vector<int64_t> apart(nest.ranges().size());
    const RangeBits all = nest.with_axes({Axis::local, Axis::lane, Axis::group});
    for (size_t r = 0; r < nest.ranges().size(); ++r)
        if (all >> r & 1) threads.push_back(r);
    for (const Access& a : accesses)
        if (a.memory.as<ParamArg>().space == Space::global)
            for (size_t r : threads) apart[r] += std::min(std::abs(a.by[r]), kFarApart);
    std::ranges::sort(threads, {}, [&](size_t r) {
        const RangeArg& arg = range_arg(nest.ranges()[r]);
        return std::pair(arg.axis == Axis::lane ? int64_t{-1} : apart[r], -arg.id);
    });
    return threads;
}

}  // namespace

Nest::Nest(UOp sink) : order_(toposort(sink)), ranges_(strata::ranges(sink)) {
    STRATA_CHECK(ranges_.size() <= 64, "a kernel of {} ranges", ranges_.size());
    UOpMap<RangeBits> bits;
    for (size_t r = 0; r < ranges_.size(); ++r) bits[ranges_[r]] = RangeBits{1} << r;
    for (UOp u : order_) {
        RangeBits open = u.is(Op::range) ? bits.at(u) : 0, closed = 0;
        for (size_t i = 0; i < u.src().size(); ++i) (i > 0 && closes_ranges(u) ? closed : open) |= open_.at(u.src(i));
        open_[u] = open & ~closed;
    }
}

RangeBits Nest::with_axes(std::initializer_list<Axis> axes) const {
    RangeBits set = 0;
    for (size_t r = 0; r < ranges_.size(); ++r)
        if (std::ranges::find(axes, range_arg(ranges_[r]).axis) != axes.end()) set |= RangeBits{1} << r;
    return set;
}

double Nest::steps(RangeBits set) const {
    double n = 1;
    for (; set; set &= set - 1)
        n *= static_cast<double>(range_arg(ranges_[static_cast<size_t>(std::countr_zero(set))]).size);
    return n;
}

OffsetOfRanges::OffsetOfRanges(UOp offset, const Nest& nest) {
    UOpMap<size_t> place;
    for (UOp u : toposort(offset)) {
        const auto range = std::ranges::find(nest.ranges(), u);
        Step step{u, range == nest.ranges().end() ? -1 : static_cast<int>(range - nest.ranges().begin()), {}};
        for (UOp s : u.src()) step.sources.push_back(place.at(s));
        place[u] = steps_.size();
        steps_.push_back(std::move(step));
    }
    values_.resize(steps_.size());
}

int64_t OffsetOfRanges::at(std::span<const int64_t> ranges) {
    for (size_t i = 0; i < steps_.size(); ++i) {
        const auto& [u, range, sources] = steps_[i];
        const auto source = [&](size_t n) { return values_[sources[n]]; };
        int64_t& value = values_[i] = 0;
        if (range >= 0)
            value = ranges[static_cast<size_t>(range)];
        else if (u.is_const() && !u.dtype().is_float())
            value = const_int(u);
        else if (u.is(Op::cast) && u.dtype().is_integer() && !u.src(0).dtype().is_float())
            value = source(0);
        else if (u.is(Op::where))
            value = source(0) ? source(1) : source(2);
        else if (info(u.op()).is(kBinary) && u.src(0).dtype().is_integer())
            value = applied(u.op(), source(0), source(1));
    }
    return values_.back();
}

bool is_scalar(const Access& access, const Target& target) {
    constexpr int kDword = 4;
    const bool gated = access.node.src(0).src().size() > 2;
    return target.arch.is_amd() && access.memory.as<ParamArg>().space == Space::global && !access.written && !gated &&
           access.bytes >= kDword && access.lanes.size() == static_cast<size_t>(target.wave_size) &&
           std::ranges::all_of(access.lanes, [&](int64_t lane) { return lane == access.lanes[0]; });
}

std::vector<Access> accesses_of(const Nest& nest, int wave_size) {
    std::vector<Access> found;
    std::vector<OffsetOfRanges> offsets;
    std::vector<int64_t> at(nest.ranges().size());
    for (UOp u : nest.order()) {
        if (!u.is(Op::load) && !u.is(Op::store)) continue;
        const UOp place = u.src(0), memory = skip_after(place.src(0));
        OffsetOfRanges& offset = offsets.emplace_back(place.src(1), nest);
        Access access{u, memory, u.is(Op::store), false, memory.dtype().element().bytes(), nest.open(u), {}, {}};
        const int64_t start = offset.at(at);
        for (int64_t& range : at) {
            range = 1;
            access.by.push_back(offset.at(at) - start);
            range = 0;
        }
        found.push_back(std::move(access));
    }
    for (Access& access : found)
        access.written = std::ranges::any_of(
            found, [&](const Access& other) { return other.store && other.memory == access.memory; });
    const std::vector<size_t> threads = threads_in_order(nest, found);
    for (int lane = 0; lane < wave_size; ++lane) {
        int64_t rest = lane;
        for (size_t r : threads) {
            const int64_t size = range_arg(nest.ranges()[r]).size;
            at[r] = rest % size, rest /= size;
        }
        if (rest) break;  // the block is smaller than a wave
        for (size_t i = 0; i < found.size(); ++i) found[i].lanes.push_back(offsets[i].at(at));
    }
    return found;
}

}  // namespace strata::codegen
