// fuse_last_block: last-block reduction. A step that is little beside a launch is computed by the block of the step
// before it that comes last.
//
// Before  part <- 512 sums of x;  s <- sum of part                      two kernels
// After   part <- 512 sums of x, s <- sum of part by the last block     one
// The last block finds the partial results when all others are done (Op::last_block), and takes them in the same order
// whichever block it is.
#include <algorithm>
#include <utility>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

// Modelled on a 7900 XTX: a launch takes 2.5 us, handing over .6, and each further term of a thread 3 to 10 ns. Blocks
// have 256 threads. Those that walk columns twice, where these are few, have as many as find neighbours in memory.
// Those of short rows have one for each.
constexpr int64_t kMostOfThread = 200, kOfBlock = 256, kThreadsOfColumn = 16, kShortRow = 8;

bool reduces(UOp u) { return u.is(Op::reduce) && u.numel() < u.src(0).numel(); }

class Finishing {
  public:
    Finishing(std::vector<ScheduleItem> items, Fusion fusion) : items_(std::move(items)), fusion_(fusion) {}

    std::vector<ScheduleItem> run() {
        if (fusion_ == Fusion::less) return std::move(items_);
        for (size_t i = 0; i < items_.size(); ++i) {
            const ScheduleItem& item = items_[i];
            if (item.body.is(Op::custom)) first_ = i + 1;  // it may write to what was read before
            const std::optional<size_t> host = host_of(i);
            for (UOp output : item.outputs()) made_at_[output] = host.value_or(i);
            if (!host) continue;
            std::vector<ScheduleItem>& finish = items_[*host].finish;
            if (finish.empty())
                finish = {std::move(items_[i])};
            else
                append(finish[0].beside, std::move(items_[i]));
            items_[i] = {};
        }
        std::erase_if(items_, [](const ScheduleItem& item) { return !item.output; });
        return std::move(items_);
    }

  private:
    /// The step whose last block may compute this one: the last of those that make what it reads.
    std::optional<size_t> host_of(size_t i) const {
        const int64_t terms = terms_of(items_[i]);
        if (terms == 0) return {};
        std::optional<size_t> host;
        for (UOp u : in_order(items_[i].bodies())) {
            const auto made = made_at_.find(u);
            if (u.is(Op::buffer) && made != made_at_.end()) host = std::max(host.value_or(0), made->second);
        }
        if (!host || *host < first_ || !is_stage(items_[*host])) return {};
        int64_t together = terms;
        for (const ScheduleItem& other : items_[*host].finish) {
            if (!are_of_the_same_loops(other, items_[i])) return {};
            together += terms_of(other);
        }
        const int64_t columns = items_[i].body.numel() * kThreadsOfColumn;
        const int64_t threads =
            std::min(threads_of(items_[*host]), has_rows_down_columns(items_[*host]) ? columns : kOfBlock);
        return together <= threads * kMostOfThread ? host : std::nullopt;
    }

    static void append(std::vector<ScheduleItem>& beside, ScheduleItem item) {
        std::vector<ScheduleItem> more = std::exchange(item.beside, {});
        beside.push_back(std::move(item));
        std::ranges::move(more, std::back_inserter(beside));
    }

    /// True if a step can be part of another one, of which it reads nothing.
    static bool are_of_the_same_loops(const ScheduleItem& other, const ScheduleItem& item) {
        if (item.body.shape() != other.body.shape()) return false;
        const std::vector<UOp> made = other.outputs(), order = in_order(item.bodies());
        const std::vector<UOp> others = in_order(other.bodies());
        const auto loop = std::ranges::find_if(others, reduces);
        const auto other_loop = [&](UOp u) { return reduces(u) && (loop == others.end() || !same_loops(u, *loop)); };
        return std::ranges::none_of(order, [&](UOp u) { return std::ranges::count(made, u) || other_loop(u); });
    }

    /// Partial results of what fills the machine.
    static bool is_stage(const ScheduleItem& step) {
        const ScheduleItem item = step.without_finish();
        const std::vector<UOp> bodies = item.bodies(), order = in_order(bodies);
        return !item.body.is(Op::custom) && find_attention(item).empty() && item.body.numel() > 1 &&
               std::ranges::all_of(bodies, [](UOp body) { return !body.is(Op::custom); }) &&
               std::ranges::any_of(order, reduces) &&
               std::ranges::none_of(order, [](UOp u) { return u.is(Op::scan) || is_tiled_product(u); });
    }

    /// Threads of a block of a stage, at most.
    static int64_t threads_of(const ScheduleItem& item) {
        int64_t terms = 0;
        for (UOp u : in_order(item.bodies()))
            if (reduces(u)) terms = std::max(terms, u.src(0).numel());
        return std::clamp<int64_t>(terms / kShortRow, 1, kOfBlock);
    }

    /// True if columns are reduced, and walked again.
    static bool has_rows_down_columns(const ScheduleItem& item) {
        int reductions = 0, down = 0;
        for (UOp u : in_order(item.bodies())) {
            if (!reduces(u)) continue;
            const Shape& shape = u.src(0).shape();
            size_t last = shape.size();
            while (last > 0 && shape[last - 1] == 1) --last;
            ++reductions;
            down += last > 0 && std::ranges::count(u.as<ReduceArg>().axes, static_cast<int>(last) - 1) == 0;
        }
        return reductions > 1 && down > 0;
    }

    /// Elements that the step's reductions read, or without any those that its results read; 0: a step that one block
    /// must not do alone.
    static int64_t terms_of(const ScheduleItem& item) {
        if (item.body.is(Op::custom)) return 0;
        const std::vector<UOp> order = in_order(item.bodies());
        if (!find_attention(item).empty()) return 0;
        int64_t terms = 0;
        for (UOp u : order) {
            if (u.is(Op::scan) || u.is(Op::take) || u.numel() > kOfBlock * kMostOfThread) return 0;
            terms += reduces(u) ? u.src(0).numel() : 0;
        }
        if (terms > 0) return terms;
        for (UOp u : order) terms += u.is(Op::buffer) ? item.body.numel() : 0;  // each result may read of each
        return terms;
    }

    std::vector<ScheduleItem> items_;
    const Fusion fusion_;
    UOpMap<size_t> made_at_;
    size_t first_ = 0;  ///< that others may finish
};

}  // namespace

std::vector<ScheduleItem> fuse_last_block(std::vector<ScheduleItem> items, Fusion fusion) {
    return Finishing(std::move(items), fusion).run();
}

}  // namespace strata::codegen
