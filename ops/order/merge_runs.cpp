// Pairs of runs that are in order become one run each. A block finds which items of both are its part of the result
// (merge path), and orders those in local memory.
#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/order/order_items_p.h"

namespace strata::ops {
namespace {

UOp min_of(UOp a, UOp b) { return alu(Op::min, {a, b}); }
UOp max_of(UOp a, UOp b) { return alu(Op::max, {a, b}); }

/// The part of a row where one block works: `size` items from `at` on in the runs a and b of a pair.
struct Part {
    UOp row;   ///< where the row begins in memory
    UOp at;    ///< place of its first item in the pair
    UOp a, b;  ///< where the runs begin in the row
    UOp a_size, b_size;
};

Part part_of(UOp row, UOp first, int64_t length, int64_t run) {
    Part out;
    out.row = row * length;
    out.a = (first / (2 * run)) * (2 * run);
    out.at = first - out.a;
    out.b = out.a + run;
    out.a_size = min_of(index_const(run), index_const(length) - out.a);
    out.b_size = max_of(index_const(0), min_of(index_const(run), index_const(length) - out.b));
    return out;
}

/// One end of a block's part. The number of the pair's first `count` items that are of run a is the smallest i in [low,
/// high] with this property. Its item of a is after the item of b that would be the last.
struct End {
    UOp count, low, high;
    End(const Part& part, UOp items)
        : count(items), low(max_of(index_const(0), items - part.b_size)), high(min_of(items, part.a_size)) {}
};

class Search {
  public:
    Search(Block& block, const ItemSource& source, const Part& part, int64_t run)
        : block_(block), source_(source), part_(part), run_(run) {}

    /// All threads look at a part of what is left each, round by round.
    UOp find(const End& end, DType type) {
        UOp base = end.low;
        for (int64_t left = run_ + 1, step = 0; step != 1; left = step) {
            step = (left + block_.threads - 1) / block_.threads;
            const UOp here = base + block_.thread * step;
            const UOp mine = is_of_a(end, here), next = is_of_a(end, here + step);
            const UOp first = alu(Op::bit_and, {block_.thread < 1, alu(Op::logical_not, {mine})});
            const UOp last = alu(Op::bit_and, {mine, alu(Op::logical_not, {next})});
            const UOp found = alu(Op::where, {mine, here + 1, base});
            const UOp cell = block_.local(1, type), zero = index_const(0);
            const UOp stored = uop::store(uop::at(cell, zero, alu(Op::bit_or, {first, last})), cast(found, type));
            base = cast(uop::load(uop::at(uop::after(cell, {uop::barrier(stored)}), zero)), dtypes::index);
        }
        return base;
    }

  private:
    UOp is_of_a(const End& end, UOp i) const {
        const UOp open = i < end.high;
        const Words a = source_.at(part_.row + part_.a + i, {}, open);
        const Words b = source_.at(part_.row + part_.b + (end.count - i - 1), {}, open);
        return alu(Op::bit_and, {open, before(a, b)});
    }

    Block& block_;
    const ItemSource& source_;
    const Part& part_;
    int64_t run_;
};

/// Runs of `run` items become runs of twice as many, of which the first k are stored.
std::vector<Tensor> merged_pairs(const ItemRows& rows, int64_t run, int64_t size, int64_t k, DType positions) {
    const Packing& packing = rows.packing;
    const int64_t length = rows.n(), per_row = (k + size - 1) / size;
    const ItemResult result(packing, positions, rows.rows() * k);
    const ItemSource source = rows.source(static_cast<int>(result.buffers.size()));
    Block block(rows.rows() * per_row, threads_of(size));
    const UOp row = block.block / per_row, first = (block.block % per_row) * size;
    const Part part = part_of(row, first, length, run);
    Search search(block, source, part, run);
    const DType type = length <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
    const UOp begin = search.find(End(part, part.at), type), end = search.find(End(part, part.at + size), type);

    Items items = block.local(size, packing.words());
    const UOp filling = block.loop(size / block.threads);
    const UOp at = filling * block.threads + block.thread;
    const UOp from_a = part.a + begin + at, from_b = part.b + (part.at - begin) + (index_const(size - 1) - at);
    const UOp from = part.row + alu(Op::where, {at < end - begin, from_a, from_b});
    items = items.after({uop::barrier(uop::end(items.put(at, source.at(from, {}, {})), {filling}))});
    items = items.after({merge_bitonic(block, items, size)});

    const UOp storing = block.loop(size / block.threads);
    const UOp rank = storing * block.threads + block.thread, wanted = first + rank < k;
    const UOp stored = result.put(row * k + first + rank, items.at(rank), wanted);
    return launched(block.sink(uop::end(stored, {storing}), "merge_runs"), result.types(), rows.rows(), k, rows);
}

}  // namespace

Tensor merged_runs(ItemRows rows, int64_t run, int64_t k, DType positions) {
    for (const int64_t size = run;; run *= 2) {
        const bool last = 2 * run >= rows.n();
        std::vector<Tensor> merged =
            merged_pairs(rows, run, size, last ? k : rows.n(), last ? positions : dtypes::none);
        if (last) return merged[0];
        rows = {rows.packing, true, rows.descending, std::move(merged)};
    }
}

}  // namespace strata::ops
