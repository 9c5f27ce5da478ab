// scan_over_threads: what the threads of a block that come before one along a range have, put together.
//
// Lanes of one wave, for each bit of a lane's number that counts along the range: other = total of the lane without it;
//         before = before op other where the bit is set; total = total op other
// Threads that are left, up to kFan at once: lds[thread] = total, by the first of those with one total; barrier
//         before = lds[0] op ... up to this thread's; total = all of them
#include <bit>

#include "strata/codegen/linear/block_exchange_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFan = 16;  // values that a thread reads at once

class GroupScan {
  public:
    GroupScan(const GroupReduction& scan, std::span<const UOp> partials, int& next_slot)
        : scan_(scan), range_(scan.groups[0]), size_(range_arg(range_).size), next_slot_(next_slot) {
        for (UOp partial : partials) values_.push_back({UOp(), partial});
    }

    std::vector<Running> run() {
        over_lanes();
        while (done_ < size_) over_memory(next_fan());
        return std::move(values_);
    }

  private:
    UOp both(UOp before, UOp after) const { return before ? alu(scan_.op, {before, after}) : after; }
    UOp kept(UOp value) { return value.dtype().is_float() ? value : in_register(value, scan_.loops, next_slot_); }
    /// The range's digit of `steps` steps above those that are done.
    UOp digit(int64_t steps) const {
        const UOp high = done_ == 1 ? range_ : range_ / done_;
        return done_ * steps == size_ ? high : high % steps;
    }

    void over_lanes() {
        int64_t stride = 1;
        for (UOp r : scan_.threads) {
            if (r == range_) break;
            stride *= range_arg(r).size;
        }
        if (!std::has_single_bit(static_cast<uint64_t>(stride))) return;
        std::vector<int> bits;
        for (; size_ % (2 * done_) == 0 && stride * done_ < scan_.target.wave_size; done_ *= 2) {
            const int bit = static_cast<int>(stride * done_), mask = cheapest_mask(scan_.target, bit, bits);
            const UOp is_set = index_const(0) < digit(2);
            for (auto& [before, all] : values_) {
                const UOp other = uop::shuffle_xor(all, mask), none = before ? before : identity(scan_.op, all.dtype());
                before = kept(alu(Op::where, {is_set, before ? both(other, before) : other, none}));
                all = kept(both(all, other));
            }
            bits.push_back(bit);
        }
    }

    /// The largest divisor of the threads that are left, up to kFan; all of them where there is none.
    int64_t next_fan() const {
        const int64_t left = size_ / done_;
        for (int64_t fan = std::min(left, kFan); fan > 1; --fan)
            if (left % fan == 0) return fan;
        return left;
    }

    void over_memory(int64_t fan) {
        std::vector<UOp> totals, memory, stores;
        for (const Running& v : values_) totals.push_back(v.all);
        BlockExchange block_exchange(scan_.loops, next_slot_);
        block_exchange.wait_for_readers(totals);
        int64_t elements = fan;
        const UOp mine = digit(fan), first = place_of_first(fan, elements);
        const UOp is_first = done_ > 1 ? range_ % done_ < 1 : UOp();
        for (UOp total : totals) {
            memory.push_back(block_exchange.memory(elements, total.dtype()));
            stores.push_back(uop::store(uop::at(block_exchange.settled(memory.back()), first + mine, is_first), total));
        }
        block_exchange.meet(stores);
        for (size_t i = 0; i < values_.size(); ++i) {
            auto& [before, all] = values_[i];
            const UOp from = block_exchange.settled(memory[i]);
            UOp sum, earlier = identity(scan_.op, totals[i].dtype());
            for (int64_t k = 0; k < fan; ++k) {
                sum = kept(both(sum, uop::load(uop::at(from, first + k))));
                if (k + 1 < fan) earlier = alu(Op::where, {index_const(k) < mine, sum, earlier});
            }
            before = kept(before ? both(earlier, before) : earlier);
            all = sum;
        }
        done_ *= fan;
    }

    /// Where the total of the first of the threads that meet is: those that meet are neighbours.
    UOp place_of_first(int64_t fan, int64_t& elements) const {
        UOp place = index_const(0);
        for (UOp r : scan_.threads) {
            const int64_t size = r == range_ ? size_ / done_ / fan : range_arg(r).size;
            if (size > 1) place = place + (r == range_ ? range_ / (done_ * fan) : r) * elements;
            elements *= size;
        }
        return place;
    }

    const GroupReduction& scan_;
    UOp range_;
    int64_t size_, done_ = 1;  ///< threads along the range; neighbours among them whose totals are the same by now
    std::vector<Running> values_;
    int& next_slot_;
};

}  // namespace

std::vector<Running> scan_over_threads(const GroupReduction& scan, std::span<const UOp> partials, int& next_slot) {
    return GroupScan(scan, partials, next_slot).run();
}

}  // namespace strata::codegen
