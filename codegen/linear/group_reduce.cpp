// reduce_over_threads: wave reduction and block reduction. Partial results of the threads of a block are combined in
// registers as far as the threads are lanes of one wave (Waves). Where their numbers do not allow that, they are
// combined in local memory alone (Tree).
//
// Waves   for each bit of a lane's number that counts along the groups: partial = partial op (that of the lane without
//         it) if others are left: lds[other] = partial, by one lane of each; barrier
//         lanes with one result take a part of the others each and combine them, then among each other as before
// Tree    lds[thread] = partial; barrier
//         while more than four are left: the first quarter of the threads adds the other three quarters' values;
//         barrier every thread combines the last four itself, which hands the result to all without one more barrier
//         lds has one element a thread of the block, in the order of thread numbers, so that neighbours touch
//         neighbours.
#include <algorithm>
#include <bit>
#include <optional>

#include "strata/codegen/linear/block_exchange_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFanIn = 4;

/// The number of a thread within its block, without the ranges that are taken as zero.
UOp thread_number(const ThreadOrder& threads, std::span<const UOp> zero) {
    UOp number;
    int64_t stride = 1;
    for (UOp r : threads) {
        if (std::find(zero.begin(), zero.end(), r) == zero.end()) {
            UOp term = stride == 1 ? r : r * stride;
            number = number ? number + term : term;
        }
        stride *= range_arg(r).size;
    }
    return number ? number : index_const(0);
}

int64_t stride_of(const ThreadOrder& threads, UOp range) {
    int64_t stride = 1;
    for (UOp r : threads) {
        if (r == range) return stride;
        stride *= range_arg(r).size;
    }
    STRATA_CHECK(false, "{} is no thread of the block", to_string(range));
}

/// Threads whose numbers along the groups are bits of lanes' numbers.
class Waves {
  public:
    explicit Waves(const GroupReduction& reduction) : reduction_(reduction) {
        int64_t stride = 1;
        for (UOp r : reduction.threads) {
            const int64_t size = range_arg(r).size;
            const bool group = std::ranges::find(reduction.groups, r) != reduction.groups.end();
            parts_.push_back({.range = r, .stride = stride, .size = size, .group = group});
            stride *= size;
        }
        for (Part& part : parts_) share(part);
        if (left() == 1) return;
        // A way through local memory's ports pays only where it makes local memory needless.
        bits_.clear();
        for (Part& part : parts_) {
            part.lanes = 1;
            share(part, LanePath::other_row);
        }
    }

    /// Nothing where local memory does it alone.
    std::optional<std::vector<UOp>> run(std::span<const UOp> partials, int& next_slot) {
        const int64_t all = left(), shared = std::min(all & -all, lanes());
        if (lanes() == 1 || all / shared > kMostOfALane) return {};
        std::vector<UOp> values(partials.begin(), partials.end());
        exchange(values, bits_, next_slot);
        if (all == 1) return values;
        BlockExchange block_exchange(reduction_.loops, next_slot);
        block_exchange.wait_for_readers(values);
        std::vector<UOp> memory, stores;
        for (UOp value : values) {
            memory.push_back(block_exchange.memory(all * outside(), value.dtype()));
            stores.push_back(
                uop::store(uop::at(block_exchange.settled(memory.back()), place(true), first_lane()), value));
        }
        block_exchange.meet(stores);
        UOp mine = place(false);
        if (shared > 1) mine = mine + (shared == lanes() ? lane_number() : lane_number() % shared);
        for (size_t i = 0; i < values.size(); ++i) {
            const UOp from = block_exchange.settled(memory[i]);
            values[i] = uop::load(uop::at(from, mine));
            for (int64_t k = shared; k < all; k += shared)
                values[i] = alu(reduction_.op, {values[i], uop::load(uop::at(from, mine + k))});
        }
        exchange(values, std::span(bits_).first(static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(shared)))),
                 next_slot);
        return values;
    }

  private:
    static constexpr int64_t kMostOfALane = 8;  // values that a lane reads

    struct Part {
        UOp range;
        int64_t stride, size;
        bool group;
        int64_t lanes = 1;  ///< steps that are bits of the lane's number: the lowest ones
        UOp high() const { return lanes == 1 ? range : lanes == size ? UOp() : range / lanes; }
        UOp low() const { return lanes == size ? range : range % lanes; }
    };

    /// Steps of a group's range that lanes of a wave differ in, as far as ways between them cost `most` at most.
    void share(Part& part, LanePath most = LanePath::permute) {
        const int64_t wave = reduction_.target.wave_size;
        if (!part.group || !std::has_single_bit(static_cast<uint64_t>(part.stride))) return;
        while (part.size % (2 * part.lanes) == 0 && part.stride * part.lanes < wave) {
            const int bit = static_cast<int>(part.stride * part.lanes);
            if (lane_xor(reduction_.target, cheapest_mask(reduction_.target, bit, bits_)).path > most) return;
            bits_.push_back(bit);
            part.lanes *= 2;
        }
    }

    void exchange(std::vector<UOp>& values, std::span<const int> bits, int& next_slot) const {
        for (size_t i = 0; i < bits.size(); ++i) {
            const int mask = cheapest_mask(reduction_.target, bits[i], bits.first(i));
            for (UOp& value : values) {
                value = alu(reduction_.op, {value, uop::shuffle_xor(value, mask)});
                if (!value.dtype().is_float()) value = in_register(value, reduction_.loops, next_slot);
            }
        }
    }
    /// Lanes that come to one result together; results that are then left of each; threads beside the groups'.
    int64_t lanes() const { return int64_t{1} << bits_.size(); }
    int64_t left() const {
        int64_t count = 1;
        for (const Part& part : parts_)
            if (part.group) count *= part.size / part.lanes;
        return count;
    }
    int64_t outside() const {
        int64_t count = 1;
        for (const Part& part : parts_)
            if (!part.group) count *= part.size;
        return count;
    }

    /// In local memory the results of one group are neighbours: the place of this thread's, or that of its group's
    /// first.
    UOp place(bool own) const {
        UOp sum;
        auto add = [&](UOp digit, int64_t stride) {
            const UOp term = stride == 1 ? digit : digit * stride;
            sum = sum ? sum + term : term;
        };
        int64_t inner = 1, outer = left();
        for (const Part& part : parts_) {
            if (!part.group) {
                add(part.range, outer);
                outer *= part.size;
            } else {
                if (UOp high = part.high(); own && high) add(high, inner);
                inner *= part.size / part.lanes;
            }
        }
        return sum ? sum : index_const(0);
    }
    UOp first_lane() const {
        UOp predicate;
        for (const Part& part : parts_)
            if (part.lanes > 1) predicate = uop::both(predicate, part.low() < 1);
        return predicate;
    }
    /// The number of a lane among those with one result.
    UOp lane_number() const {
        UOp sum;
        int64_t stride = 1;
        for (const Part& part : parts_) {
            if (part.lanes == 1) continue;
            const UOp term = stride == 1 ? part.low() : part.low() * stride;
            sum = sum ? sum + term : term;
            stride *= part.lanes;
        }
        return sum;
    }

    const GroupReduction& reduction_;
    std::vector<Part> parts_;
    std::vector<int> bits_;  ///< of lanes' numbers, from the lowest on
};

class Tree {
  public:
    Tree(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot)
        : reduction_(reduction), own_(thread_number(reduction.threads, {})), exchange_(reduction.loops, next_slot) {
        for (UOp r : reduction.threads) threads_ *= range_arg(r).size;
        values_.assign(partials.begin(), partials.end());
        exchange_.wait_for_readers(values_);
    }

    /// All, in rounds that use the same memory where there are many.
    std::vector<UOp> run() {
        const DType type = values_[0].dtype();
        const bool alike = std::ranges::all_of(values_, [&](UOp value) { return value.dtype() == type; });
        const auto fit = static_cast<size_t>(std::max<int64_t>(kBytesAtOnce / (threads_ * type.bytes()), 1));
        const size_t at_once = alike ? std::min(fit, values_.size()) : values_.size();
        std::vector<UOp> results;
        for (size_t from = 0; from < values_.size(); from += at_once) {
            const auto values = std::span(values_).subspan(from, std::min(at_once, values_.size() - from));
            if (from == 0)
                for (UOp value : values) memory_.push_back(exchange_.memory(threads_, value.dtype()));
            else
                exchange_.meet(results);
            memory_.resize(values.size());
            const std::vector<UOp> some = together(values);
            results.insert(results.end(), some.begin(), some.end());
        }
        return results;
    }

  private:
    static constexpr int64_t kBytesAtOnce = 8192;

    std::vector<UOp> together(std::span<const UOp> values) {
        std::vector<UOp> first;
        for (size_t i = 0; i < values.size(); ++i)
            first.push_back(uop::store(uop::at(exchange_.settled(memory_[i]), own_), values[i]));
        exchange_.meet(first);
        UOp predicate;  // the threads that still take part
        std::vector<UOp> results;
        for (size_t g = 0; g < reduction_.groups.size(); ++g) {
            UOp range = reduction_.groups[g];
            int64_t left = range_arg(range).size;
            bool last = g + 1 == reduction_.groups.size();
            while (left > (last ? kFanIn : 1)) {
                int64_t step = (left + kFanIn - 1) / kFanIn;
                stage(range, left, step, uop::both(predicate, range < step));
                left = step;
            }
            predicate = uop::both(predicate, range < 1);
            if (last) results = finish(range, left);
        }
        return results;
    }

    void stage(UOp range, int64_t left, int64_t step, UOp predicate) {
        std::vector<UOp> stores;
        for (UOp memory : memory_) {
            UOp at = exchange_.settled(memory), sum = uop::load(uop::at(at, own_, predicate));
            for (int64_t k = step; k < left; k += step) {
                UOp there = own_ + k * stride_of(reduction_.threads, range);
                UOp exists = k + step <= left ? predicate : uop::both(predicate, range < left - k);
                UOp other = uop::load(uop::at(at, there, exists));
                UOp next = alu(reduction_.op, {sum, other});
                sum = exists == predicate ? next : alu(Op::where, {exists, next, sum});
            }
            stores.push_back(uop::store(uop::at(at, own_, predicate), sum));
        }
        exchange_.meet(stores);
    }

    std::vector<UOp> finish(UOp range, int64_t left) const {
        UOp first = thread_number(reduction_.threads, reduction_.groups);
        std::vector<UOp> results;
        for (UOp memory : memory_) {
            UOp at = exchange_.settled(memory), sum = uop::load(uop::at(at, first));
            for (int64_t k = 1; k < left; ++k)
                sum =
                    alu(reduction_.op, {sum, uop::load(uop::at(at, first + k * stride_of(reduction_.threads, range)))});
            results.push_back(sum);
        }
        return results;
    }

    const GroupReduction& reduction_;
    UOp own_;
    BlockExchange exchange_;
    int64_t threads_ = 1;
    std::vector<UOp> values_, memory_;
};

}  // namespace

std::vector<UOp> reduce_over_threads(const GroupReduction& reduction, std::span<const UOp> partials, int& next_slot) {
    if (auto results = Waves(reduction).run(partials, next_slot)) return std::move(*results);
    return Tree(reduction, partials, next_slot).run();
}

Result<UOp> predicate_group_stores(UOp sink, Context& context) {
    const Scopes& scopes = context.scopes(sink);
    RangeSet groups = scopes.with_axis({Axis::group});
    if (!groups) return sink;
    return rebuild(scopes.order(), [&](UOp u, std::vector<UOp>& sources) {
        const bool is_write = writes_memory(u);
        const bool writes = is_write && memory_of(u).as<ParamArg>().space == Space::global;
        if (writes) {
            UOp place = sources[0], predicate = place.src().size() > 2 ? place.src(2) : UOp();
            for (UOp r : scopes.list(groups & ~scopes.free(u))) predicate = uop::both(predicate, r < 1);
            sources[0] = uop::at(place.src(0), place.src(1), predicate, uop::cache_of(place));
        }
        return u.with_src(sources);
    });
}

}  // namespace strata::codegen
