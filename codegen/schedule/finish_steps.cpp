// finish_steps: a step that is little beside a launch is computed by the block of the step before it that comes last.
//
// Before  part <- 512 sums of x;  s <- sum of part                      two kernels
// After   part <- 512 sums of x, s <- sum of part by the last block     one
// The last block finds the partial results when all others are done (Op::last_block), and takes them in the same order whichever
// block it is.
#include <algorithm>

#include "strata/codegen/schedule/online.h"
#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

// Modelled on a 7900 XTX: a launch takes 2.5 us, handing over .6 to .9, and one block reads 16384 floats in 1.2.
constexpr int64_t kMostFinished = 1 << 14;
constexpr int64_t kMostResults = 1 << 10;

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
            items_[*host].finish = {std::move(items_[i])};
            items_[i] = {};
        }
        std::erase_if(items_, [](const ScheduleItem& item) { return !item.output; });
        return std::move(items_);
    }

  private:
    /// The step whose last block may compute this one: the last of those that make what it reads.
    std::optional<size_t> host_of(size_t i) const {
        if (!is_little(items_[i])) return {};
        std::optional<size_t> host;
        for (UOp u : in_order(items_[i].bodies())) {
            const auto made = made_at_.find(u);
            if (u.is(Op::buffer) && made != made_at_.end()) host = std::max(host.value_or(0), made->second);
        }
        if (!host || *host < first_ || !items_[*host].finish.empty() || !is_stage(items_[*host])) return {};
        return host;
    }

    /// Partial results of what fills the machine.
    static bool is_stage(const ScheduleItem& item) {
        const std::vector<UOp> bodies = item.bodies(), order = in_order(bodies);
        return !item.body.is(Op::custom) && online_sums(order).empty() && item.body.numel() > 1 &&
               std::ranges::all_of(bodies, [](UOp body) { return !body.is(Op::custom); }) &&
               std::ranges::any_of(order, reduces) &&
               std::ranges::none_of(order, [](UOp u) { return u.is(Op::scan) || is_tiled_product(u); });
    }

    bool is_little(const ScheduleItem& item) const {
        if (item.body.is(Op::custom) || item.body.numel() > kMostResults) return false;
        int64_t terms = 0;
        bool reduced = false;
        for (UOp u : in_order(item.bodies())) {
            if (u.is(Op::scan) || u.is(Op::take)) return false;
            terms += u.is(Op::reduce) ? u.src(0).numel() : 0;
            reduced |= reduces(u);
        }
        return reduced && terms <= kMostFinished;
    }

    std::vector<ScheduleItem> items_;
    const Fusion fusion_;
    UOpMap<size_t> made_at_;
    size_t first_ = 0;  ///< that others may finish
};

}  // namespace

std::vector<ScheduleItem> finish_steps(std::vector<ScheduleItem> items, Fusion fusion) {
    return Finishing(std::move(items), fusion).run();
}

}  // namespace strata::codegen
