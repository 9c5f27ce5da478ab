// lower_scans: scans become sums of three parts. The first is a thread's own part of a row before an element. The
// others are the parts of other threads, and the total of earlier steps of a loop.
//
// Before  scan(add, x, r0, r1, r2, r3), r0 reduce, r1 unroll, r2 group, r3 unroll
// After   v = all x of a thread;  p = v added up along r3
//         (t, s) = totals of p along r3, of threads before this one along r2, and of all;  then s added up along r1
//         element(acc + (s before r1) + t + p, r1, r3), where acc is a register: acc = acc + s
// A thread's elements are a vector here, which expand takes apart: the threads meet once for all of them.
// Runs before expand, which knows no order of steps.
#include <algorithm>

#include "strata/codegen/linear/block_exchange_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMostElements = 255;  // of a thread: lanes of a DType

/// One scan. A lane is one of the thread's elements.
class Scan {
  public:
    Scan(UOp u, UOp value, const Scopes& scopes, const Context& context, int& next_slot)
        : op_(u.as<ReduceArg>().op), along_(u.src().subspan(1)), context_(context), next_slot_(next_slot) {
        const RangeSet mine = scopes.free(u);
        own_ = scopes.list(mine & scopes.with_axis({Axis::upcast, Axis::unroll, Axis::vector}));
        for (UOp r : scopes.list(mine & scopes.with_axis({Axis::loop, Axis::reduce})))
            (std::ranges::find(along_, r) == along_.end() ? around_ : serial_).push_back(r);
        loops_ = around_;
        loops_.insert(loops_.end(), serial_.begin(), serial_.end());
        for (auto r = own_.rbegin(); r != own_.rend(); ++r) {
            stride_[*r] = lanes_;
            lanes_ *= static_cast<size_t>(range_arg(*r).size);
        }
        if (lanes_ > kMostElements) return;
        const UOp all = uop::contract(value, own_);
        for (size_t i = 0; i < lanes_; ++i) lane_.push_back({uop::lane(all, static_cast<int>(i)), UOp()});
        for (Lane& lane : lane_) lane.total = lane.value;
    }

    Result<UOp> run() {
        if (lanes_ > kMostElements)
            return make_error(ErrorKind::Usage, "a scan of {} elements a thread; the most is {}", lanes_,
                              kMostElements);
        for (size_t i = along_.size(); i-- > 0;) {
            const Axis axis = range_arg(along_[i]).axis;
            if (axis == Axis::unroll) over_steps(along_[i]);
            if (axis == Axis::group) over_threads(along_[i]);
        }
        if (!serial_.empty()) over_loop();
        std::vector<UOp> results;
        for (const Lane& lane : lane_)
            results.push_back(lane.offset ? both(kept(lane.offset), lane.value) : lane.value);
        if (after_)
            for (UOp& result : results) result = uop::after(result, {after_});
        UOp number = index_const(0);
        for (UOp r : own_) number = number + r * static_cast<int64_t>(stride_.at(r));
        return own_.empty() ? results[0] : uop::element(uop::vec(results), number);
    }

  private:
    struct Lane {
        UOp value;       ///< up to and with it, of those that follow each other in the thread
        UOp offset;      ///< before these; empty: nothing
        UOp total = {};  ///< along all ranges so far
    };

    UOp both(UOp before, UOp after) const { return !before ? after : !after ? before : alu(op_, {before, after}); }
    UOp kept(UOp value) {
        if (value.dtype().is_float()) return value;
        auto [at, is_new] = kept_.try_emplace(value);
        if (is_new) at->second = in_register(value, loops_, next_slot_);
        return at->second;
    }
    size_t digit(size_t lane, UOp r) const { return lane / stride_.at(r) % static_cast<size_t>(range_arg(r).size); }

    void over_steps(UOp r) {
        const size_t steps = static_cast<size_t>(range_arg(r).size), stride = stride_.at(r);
        std::vector<UOp> totals;
        for (const Lane& lane : lane_) totals.push_back(lane.total);
        for (size_t i = 0; i < lanes_; ++i) {
            const size_t at = digit(i, r), first = i - at * stride;
            UOp before, all;
            for (size_t k = 0; k < steps; ++k) {
                if (k == at) before = all;
                all = both(all, totals[first + k * stride]);
            }
            (run_ ? lane_[i].value : lane_[i].offset) = both(before, run_ ? lane_[i].value : lane_[i].offset);
            lane_[i].total = all;
        }
        done_.push_back(r);
        run_ = false;
    }

    /// The lanes that stand for all with their total: the first of those that differ in ranges that are done.
    std::vector<size_t> different() const {
        std::vector<size_t> found;
        for (size_t i = 0; i < lanes_; ++i) {
            bool first = true;
            for (UOp r : done_) first &= digit(i, r) == 0;
            if (first) found.push_back(i);
        }
        return found;
    }
    size_t first_of(size_t lane) const {
        for (UOp r : done_) lane -= digit(lane, r) * stride_.at(r);
        return lane;
    }

    void over_threads(UOp r) {
        std::vector<UOp> totals;
        const std::vector<size_t> of = different();
        for (size_t i : of) totals.push_back(lane_[i].total);
        const std::vector<Running> running =
            scan_over_threads({op_, {r}, loops_, context_.threads, context_.target}, totals, next_slot_);
        add(of, running);
        run_ = false;
    }

    void add(const std::vector<size_t>& of, const std::vector<Running>& running) {
        std::vector<size_t> place(lanes_);
        for (size_t i = 0; i < of.size(); ++i) place[of[i]] = i;
        for (size_t i = 0; i < lanes_; ++i) {
            const auto& [before, all] = running[place[first_of(i)]];
            lane_[i].offset = both(before, lane_[i].offset);
            lane_[i].total = all;
        }
    }

    void over_loop() {
        const std::vector<size_t> of = different();
        const DType type = lane_[0].total.dtype();
        const UOp memory = uop::placeholder(static_cast<int64_t>(of.size()), type, Space::reg, next_slot_++);
        std::vector<UOp> inside, stores;
        for (size_t i = 0; i < of.size(); ++i)
            inside.push_back(
                uop::store(uop::at(uop::after(memory, around_), static_cast<int64_t>(i)), identity(op_, type)));
        inside = {uop::group(inside)};
        inside.insert(inside.end(), serial_.begin(), serial_.end());
        std::vector<Running> running;
        for (size_t i = 0; i < of.size(); ++i) {
            const UOp place = uop::at(uop::after(memory, inside), static_cast<int64_t>(i)), sum = uop::load(place);
            running.push_back({sum, both(sum, lane_[of[i]].total)});
            stores.push_back(uop::store(place, running.back().all));
        }
        add(of, running);
        after_ = uop::group(stores);
    }

    Op op_;
    std::span<const UOp> along_;
    std::vector<UOp> own_, around_, serial_, loops_;  ///< ranges: of lanes, the last fastest; serial ones
    std::vector<UOp> done_;
    UOpMap<size_t> stride_;
    size_t lanes_ = 1;
    std::vector<Lane> lane_;
    bool run_ = true;  ///< no range but those of neighbours in the thread is done
    UOp after_;        ///< what the results come after
    UOpMap<UOp> kept_;
    const Context& context_;
    int& next_slot_;
};

}  // namespace

Result<UOp> lower_scans(UOp sink, Context& context) {
    const Scopes& scopes = context.scopes(sink);
    if (std::ranges::none_of(scopes.order(), [](UOp u) { return u.is(Op::scan); })) return sink;
    int next_slot = next_free_slot(scopes);
    Result<void> fits;
    UOp lowered = rebuild(scopes.order(), [&](UOp u, std::span<const UOp> sources) {
        if (!u.is(Op::scan)) return u.with_src(sources);
        Result<UOp> result = Scan(u, sources[0], scopes, context, next_slot).run();
        if (!result) fits = std::move(result.error());
        return result ? *result : sources[0];
    });
    if (!fits) return std::move(fits.error());
    return lowered;
}

}  // namespace strata::codegen
