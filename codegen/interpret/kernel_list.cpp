// kernel_list: the nodes of a kernel over ranges in order of execution.
//
// A node is placed in the innermost loop that it depends on. An end, a reduction or a contraction closes loops, which
// are placed just before it. Several loops of one closing node are nested in the order of their ids.
#include "strata/codegen/interpret/kernel_list.h"

#include <algorithm>
#include <array>
#include <bit>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/scopes.h"
#include "strata/core/uop/uop_map.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

bool is_coordinate(UOp range) {
    const Axis axis = range_arg(range).axis;
    return axis == Axis::global || axis == Axis::local || axis == Axis::lane;
}

/// Gives ranges that several nodes close to each of them as one of its own.
UOp with_own_ranges(UOp sink) {
    UOpMap<size_t> closers;
    for (UOp u : toposort(sink))
        if (closes_ranges(u))
            for (UOp r : u.src().subspan(1)) ++closers[r];
    int next = next_range_id(sink);
    const auto is_shared = [&](UOp r) { return r.is(Op::range) && !is_coordinate(r) && closers[r] > 1; };
    return rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (!closes_ranges(u)) return u.with_src(sources);
        UOpMap<UOp> own;
        for (size_t i = 1; i < sources.size(); ++i) {
            if (!is_shared(u.src(i))) continue;
            RangeArg arg = range_arg(u.src(i));
            arg.id = next++;
            own[sources[i]] = make(Op::range, u.src(i).dtype(), sources[i].src(), arg);
        }
        if (own.empty()) return u.with_src(sources);
        sources[0] = substitute(sources[0], own);
        for (size_t i = 1; i < sources.size(); ++i)
            if (const auto found = own.find(sources[i]); found != own.end()) sources[i] = found->second;
        return u.with_src(sources);
    });
}

class Listing {
  public:
    explicit Listing(UOp sink) : scopes_(sink) { list_.sink = sink; }

    Result<KernelList> run() {
        find_coordinates();
        nest_loops();
        for (UOp u : scopes_.order()) {
            if (u.is(Op::range) || u.is(Op::after) || u.is(Op::group) || u.is(Op::sink)) continue;
            const size_t block = block_of(loops(u));
            if (loops(u) & ~enclosing_[block])
                return make_error(ErrorKind::Usage, "{} depends on loops that are not nested in each other",
                                  to_string(u));
            blocks_[block].push_back(u);
        }
        for (const InterpretedLaunch::Coordinate& one : list_.launch.coordinates) list_.ops.push_back(one.range);
        emit(kRoot);
        return std::move(list_);
    }

  private:
    static constexpr size_t kRoot = kMaxRanges;
    using Chain = std::vector<UOp>;

    /// The last range is the fastest, and lanes are faster than threads.
    void find_coordinates() {
        RangeSet ended = 0;
        for (UOp u : scopes_.order())
            if (u.is(Op::end)) ended |= scopes_.closed_by(u);
        for (UOp u : scopes_.order())
            if (closes_ranges(u) && !u.is(Op::end)) ended &= ~scopes_.closed_by(u);
        place(scopes_.list(scopes_.with_axis({Axis::global}) & ended), false, list_.launch.grid);
        Chain threads = scopes_.list(scopes_.with_axis({Axis::local}) & ended);
        const Chain lanes = scopes_.list(scopes_.with_axis({Axis::lane}) & ended);
        threads.insert(threads.end(), lanes.begin(), lanes.end());
        place(threads, true, list_.launch.block);
        for (UOp u : scopes_.order())
            if (u.is(Op::special)) {
                const SpecialArg& arg = u.as<SpecialArg>();
                uint32_t& size = (arg.thread ? list_.launch.block : list_.launch.grid)[static_cast<size_t>(arg.dim)];
                size = std::max(size, static_cast<uint32_t>(arg.size));
            }
    }

    void place(const Chain& ranges, bool thread, std::array<uint32_t, 3>& sizes) {
        int64_t stride = 1;
        for (size_t i = ranges.size(); i-- > 0; stride *= range_arg(ranges[i]).size) {
            list_.launch.coordinates.push_back({ranges[i], thread, stride});
            coordinates_ |= scopes_.bit(ranges[i]);
        }
        if (!ranges.empty()) sizes = {static_cast<uint32_t>(stride), 1, 1};
    }

    RangeSet loops(UOp u) const {
        const auto found = closed_around_.find(u);
        return (scopes_.free(u) | (found == closed_around_.end() ? 0 : found->second)) & ~coordinates_;
    }
    Chain loops_of(UOp closer) const { return scopes_.list(scopes_.closed_by(closer) & ~coordinates_); }

    void nest_loops() {
        const std::vector<UOp>& nodes = scopes_.order();
        for (auto u = nodes.rbegin(); u != nodes.rend(); ++u) {
            if (u->is(Op::group))
                for (UOp s : u->src()) closed_around_[s] |= loops(*u);
            if (!closes_ranges(*u)) continue;
            const RangeSet around = loops(*u);
            if (u->is(Op::end)) closed_around_[u->src(0)] |= around | (scopes_.closed_by(*u) & ~coordinates_);
            size_t outer = block_of(around);
            for (UOp range : loops_of(*u)) {
                const size_t inner = number(scopes_.bit(range));
                depth_[inner] = depth_[outer] + 1;
                enclosing_[inner] = enclosing_[outer] | scopes_.bit(range);
                outer = inner;
            }
        }
    }

    static size_t number(RangeSet bit) { return static_cast<size_t>(std::countr_zero(bit)); }

    size_t block_of(RangeSet free) const {
        size_t block = kRoot;
        for (; free; free &= free - 1)
            if (const size_t i = number(free); depth_[i] > depth_[block]) block = i;
        return block;
    }

    void emit(size_t block) {
        for (UOp u : blocks_[block]) {
            if (closes_ranges(u))
                for (UOp range : loops_of(u)) {
                    list_.ops.push_back(range);
                    emit(number(scopes_.bit(range)));
                }
            list_.ops.push_back(u);
        }
    }

    const Scopes scopes_;
    RangeSet coordinates_ = 0;
    UOpMap<RangeSet> closed_around_;
    std::array<int, kMaxRanges + 1> depth_{};
    std::array<RangeSet, kMaxRanges + 1> enclosing_{};
    std::array<std::vector<UOp>, kMaxRanges + 1> blocks_;
    KernelList list_;
};

}  // namespace

Result<KernelList> list_kernel(UOp sink) { return Listing(with_own_ranges(sink)).run(); }

}  // namespace strata::codegen
