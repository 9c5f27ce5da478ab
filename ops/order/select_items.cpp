// The first k of each row without ordering the rest. The k-th of the threads' own best items bounds the items that can
// be among them. Items within the bound are kept in queues in local memory, and ordered when one is full.
#include <algorithm>
#include <bit>

#include "strata/ops/build_p.h"
#include "strata/ops/order/order_items_p.h"

namespace strata::ops {
namespace {

constexpr int64_t kLoads = 4;           ///< that a thread starts together: a power of two
constexpr int64_t kQueue = 2 * kLoads;  ///< items that a thread keeps
constexpr int64_t kLeastSelecting = 256, kMostSelecting = 512;

UOp is_some(UOp flag) { return alu(Op::cmplt, {constant_int(dtypes::int32, 0), flag}); }
UOp as_int(UOp x) { return cast(x, dtypes::int32); }

/// At least twice as many as there are items to select: a part of a row has to have as many threads with an item.
int64_t threads_to_select(int64_t k) {
    return std::max(kLeastSelecting, 2 * static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(k))));
}

class Selection {
  public:
    Selection(const ItemRows& rows, int64_t k, int64_t parts, int64_t threads, DType positions)
        : k_(k),
          n_(rows.n()),
          parts_(parts),
          part_((n_ + parts - 1) / parts),
          steps_((part_ + threads * kLoads - 1) / (threads * kLoads)),
          packing_(rows.packing),
          result_(packing_, positions, rows.rows() * parts * k),
          source_(rows.source(static_cast<int>(result_.buffers.size()))),
          block_(rows.rows() * parts, threads),
          queue_(block_.local(kQueue * threads, packing_.words())),
          bound_(block_.registers(packing_.words())),
          count_(block_.register_of(dtypes::int32)),
          flags_(block_.local(2, dtypes::int32)) {}

    UOp kernel() {
        const UOp ready = clear(bounded(best_of_threads()), {});
        const UOp step = block_.loop(steps_);
        const UOp kept = keep(step, ready);
        const UOp done = uop::end(order_if_full(step, kept), {step});
        const UOp mine = block_.thread;
        const UOp stored = result_.put(block_.block * k_ + mine, queue_.after({done}).at(mine), mine < k_);
        return block_.sink(stored, "select_items");
    }
    std::vector<DType> results() const { return result_.types(); }

  private:
    UOp place(int64_t row) const { return block_.thread + row * block_.threads; }

    std::vector<Words> load(UOp step) const {
        std::vector<Words> out;
        const UOp row = block_.block / parts_, first = (block_.block % parts_) * part_;
        for (int64_t i = 0; i < kLoads; ++i) {
            const UOp at = (step * kLoads + i) * block_.threads + block_.thread, column = first + at;
            out.push_back(source_.at(row * n_ + column, column, uop::both(at < part_, column < n_)));
        }
        return out;
    }

    Words best_of_threads() {
        const UOp zero = index_const(0);
        const Items best = block_.registers(packing_.words());
        const UOp start = best.put(zero, packing_.last());
        const UOp step = block_.loop(steps_);
        const Items here = best.after({start, step});
        Words least = here.at(zero);
        for (const Words& item : load(step)) least = either_of(before(item, least), item, least);
        return best.after({uop::end(here.put(zero, least), {step})}).at(zero);
    }

    /// The bound is the k-th of the best.
    UOp bounded(const Words& best) {
        const Items items = queue_.after({uop::barrier(queue_.put(place(0), best))});
        return set_bound(items.after({order_runs(block_, items, {block_.threads, block_.threads})}), bound_);
    }

    /// All threads have read it.
    UOp set_bound(const Items& ordered, const Items& bound) const {
        return uop::barrier(bound.put(index_const(0), ordered.at(index_const(k_ - 1))));
    }

    /// Queues without items but for the first `kept`, one a thread, which lie in order.
    UOp clear(UOp earlier, std::optional<int64_t> kept) {
        std::vector<UOp> stores;
        const Items queue = queue_.after({earlier});
        for (int64_t i = 0; i < kQueue; ++i) {
            const UOp empty = i == 0 && kept ? alu(Op::logical_not, {block_.thread < *kept}) : UOp();
            stores.push_back(queue.put(place(i), packing_.last(), empty));
        }
        const UOp none = constant_int(dtypes::int32, 0);
        const UOp items = kept ? as_int(block_.thread < *kept) : none;
        stores.push_back(uop::store(uop::at(uop::after(count_, {earlier}), index_const(0)), items));
        const UOp flag = uop::at(uop::after(flags_, {earlier}), block_.thread, block_.thread < 2);
        stores.push_back(uop::store(flag, none));
        return uop::barrier(stores);
    }

    UOp keep(UOp step, UOp ready) {
        const UOp counter = uop::at(uop::after(count_, {ready, step}), index_const(0));
        const Items queue = queue_.after({ready, step});
        const Words bound = bound_.after({ready, step}).at(index_const(0));
        std::vector<UOp> effects;
        UOp count = uop::load(counter);
        for (const Words& item : load(step)) {
            const UOp within = not_after(item, bound);
            const UOp at = cast(count, dtypes::index) * block_.threads + block_.thread;
            effects.push_back(queue.put(at, item, within));
            count = count + as_int(within);
        }
        effects.push_back(uop::store(counter, count));
        const UOp no_room = alu(Op::cmplt, {constant_int(dtypes::int32, kQueue - kLoads), count});
        const std::array flag{uop::at(uop::after(flags_, {ready, step}), step % 2, no_room),
                              constant_int(dtypes::int32, 1)};
        effects.push_back(make(Op::atomic_add, dtypes::none, flag));
        return uop::barrier(effects);
    }

    /// Orders the queues where one has no room for a step more, and after the last step. Flags take turns: a thread
    /// that is a step ahead changes the other.
    UOp order_if_full(UOp step, UOp kept) {
        const UOp no_room = is_some(uop::load(uop::at(uop::after(flags_, {kept}), step % 2)));
        const UOp last = alu(Op::cmpeq, {step, index_const(steps_ - 1)});
        const UOp full = block_.loop(2, cast(alu(Op::bit_or, {no_room, last}), dtypes::index));
        const UOp rounds = cast(no_room, dtypes::index) + 1;
        const Items items = queue_.after({kept, full});
        const int64_t size = kQueue * block_.threads, least = std::countr_zero(static_cast<uint64_t>(size / 2));
        const UOp ordered = order_runs(block_, items, {size, size, rounds + (least - 1), rounds});
        const UOp bounded = set_bound(items.after({ordered}), bound_.after({kept, full}));
        return uop::end(clear(bounded, k_), {full});
    }

    int64_t k_, n_, parts_, part_, steps_;
    Packing packing_;
    ItemResult result_;
    ItemSource source_;
    Block block_;
    Items queue_, bound_;
    UOp count_, flags_;
};

}  // namespace

std::optional<int64_t> most_parts(int64_t n, int64_t k) {
    const int64_t threads = threads_to_select(k);
    if (threads > kMostSelecting || n < 4 * threads) return std::nullopt;
    return std::max<int64_t>(1, n / (2 * threads * kLoads));
}

std::vector<Tensor> selected(const ItemRows& rows, int64_t k, int64_t parts, DType positions) {
    Selection selection(rows, k, parts, threads_to_select(k), positions);
    return launched(selection.kernel(), selection.results(), rows.rows(), parts * k, rows);
}

}  // namespace strata::ops
