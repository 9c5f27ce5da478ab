#include "strata/ops/store_at_p.h"

#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/custom.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/indexing_p.h"
#include "strata/ops/order/block_p.h"
#include "strata/ops/order/order_items_p.h"

namespace strata::ops {
namespace {

constexpr int64_t kLeastBytes = 1 << 20;  ///< that take a card as long as a launch; less is rewritten in a fused kernel
constexpr int64_t kFewer = 4;             ///< times fewer values than elements: else all are rewritten
constexpr int64_t kThreads = 256;
constexpr int64_t kMostEach = 32;             ///< numbers that a thread adds
constexpr int64_t kSumBytes = 16 << 10;       ///< of sums of a block: every chip has them several times
constexpr int64_t kPairs = int64_t{1} << 20;  ///< of positions: each is looked at; more are ordered

/// Parameters: the tensor of rows, positions, rows of values, and whether each is stored, if not all are; a thread a
/// value.
UOp storing_kernel(int64_t rows, int64_t m, int64_t width, DType type, DType positions, bool all) {
    const int64_t size = m * width, threads = std::min(kThreads, size);
    Block block((size + threads - 1) / threads, threads);
    const UOp i = block.block * threads + block.thread, exists = size % threads ? i < size : UOp();
    const auto at = [&](int slot, DType of, int64_t n, UOp place) {
        return uop::load(uop::at(uop::buffer(slot, of, n), place, exists), exists ? constant_int(of, 0) : UOp());
    };
    const UOp row = i / width, place = cast(at(1, positions, m, row), dtypes::index) * width + i % width;
    const UOp kept = uop::both(all ? UOp() : at(3, dtypes::boolean, m, row), exists);
    return block.sink(uop::store(uop::at(uop::buffer(0, type, rows * width), place, kept), at(2, type, size, i)),
                      "store_at");
}

/// Parameters: the sums, positions, numbers. Each block adds up what `each` of its threads have, in local memory if the
/// sums have room there.
UOp adding_kernel(int64_t n, int64_t m, int64_t each, DType type, DType positions) {
    const bool local = n * type.bits() / 8 <= kSumBytes;
    Block block((m + kThreads * each - 1) / (kThreads * each), kThreads);
    const UOp sums = uop::buffer(0, type, n), zero = constant_int(type, 0);
    const auto add = [](UOp there, UOp number) {
        return make(Op::atomic_add, dtypes::none, std::array{there, number});
    };
    const auto for_all_sums = [&](auto&& effect) {
        const UOp step = block.loop((n + kThreads - 1) / kThreads), i = step * kThreads + block.thread;
        return uop::end(effect(i, n % kThreads ? i < n : UOp()), {step});
    };
    UOp here = sums;
    if (local) {
        const UOp memory = block.local(n, type);
        const auto clear = [&](UOp i, UOp exists) { return uop::store(uop::at(memory, i, exists), zero); };
        here = uop::after(memory, {uop::barrier(for_all_sums(clear))});
    }
    const UOp step = block.loop(each), i = (block.block * each + step) * kThreads + block.thread, exists = i < m;
    const UOp place = uop::load(uop::at(uop::buffer(1, positions, m), i, exists), constant_int(positions, 0));
    const UOp number = uop::load(uop::at(uop::buffer(2, type, m), i, exists), zero);
    const UOp added = uop::end(add(uop::at(here, cast(place, dtypes::index), exists), number), {step});
    if (!local) return block.sink(added, "add_at");
    here = uop::after(here, {uop::barrier(added)});
    const auto give = [&](UOp at, UOp there) {
        const UOp sum = uop::load(uop::at(here, at, there), there ? zero : UOp());
        return add(uop::at(sums, at, uop::both(there, alu(Op::cmpne, {sum, zero}))), sum);
    };
    return block.sink(for_all_sums(give), "add_at");
}

Tensor stored(const Tensor& old, const Tensor& positions, const Tensor& values, const Tensor& kept) {
    const UOp sink = storing_kernel(old.size(0), positions.numel(), old.size(1), old.dtype(), positions.dtype(), !kept);
    std::vector<KernelArgument> arguments{old, positions, values};
    if (kept) arguments.emplace_back(kept);
    return custom_kernel(arguments, uop_kernel(sink), {}, {int64_t{0}})[0];
}

/// The memory, or the kernel that leaves it, after views of all of it.
UOp whole(UOp view) {
    while (view.is(Op::reshape)) view = view.src(0);
    return view;
}

}  // namespace

bool is_stored_in_place(const Tensor& old, int64_t values) {
    if (old.is_uniform() || old.nbytes() < kLeastBytes) return false;
    const UOp memory = whole(old.in_memory());
    return values > 0 && values <= old.numel() / kFewer && (memory.is(Op::buffer) || memory.is(Op::pick));
}

Tensor stored_at(const Tensor& old, const Tensor& positions, const Tensor& values, const Tensor& kept) {
    GraphScope scope;
    const auto backward = [=, at = held(positions), which = kept ? held(kept) : kept](const Tensor& g) {
        const Tensor arrived = take_axis(g, at, 0), none = like(g, 0, arrived.shape(), g.dtype());
        const Tensor of_values = which ? where(which.reshape({at.numel(), 1}), arrived, none) : arrived;
        return std::vector{stored_at(g, at, none, which), of_values};
    };
    return with_backward(stored(old, positions, values, kept), "stored at", {old, values}, backward);
}

Tensor integer_sums_at(const Tensor& positions, const Tensor& values, int64_t n) {
    GraphScope scope;
    const DType type = values.dtype().bits() <= 32 ? dtypes::int32 : dtypes::int64;
    const int64_t m = positions.numel();
    const Tensor sums = like(positions, 0, {n}, type).contiguous(), at = positions.reshape({m});
    const UOp sink = adding_kernel(n, m, std::min(kMostEach, (m + kThreads - 1) / kThreads), type, at.dtype());
    const std::vector<KernelArgument> arguments{sums, at, values.reshape({m}).cast(type)};
    return custom_kernel(arguments, uop_kernel(sink), {}, {int64_t{0}})[0].cast(values.dtype());
}

Tensor is_last_there(const Tensor& positions) {
    const int64_t m = positions.numel();
    if (m == 1) return {};
    if (times("scatter", m, m) <= kPairs) {
        const Tensor at = iota(m), mine = positions.reshape({m, 1}), other = positions.reshape({1, m});
        const Tensor later = bitwise_and(eq(mine, other), lt(at.reshape({m, 1}), at.reshape({1, m})));
        return reduce(expand_to(later, {m, m}), Op::max, {1}).reshape({m}).logical_not();
    }
    const Tensor order = order_of_rows(positions.reshape({1, m}), false, m).reshape({m});
    const Tensor ordered = take_axis(positions, order, 0).contiguous();
    const Tensor next = ordered.shrink({{1, m}}).pad({{0, 1}}, -1);
    const Tensor none = like(positions, false, {m}, dtypes::boolean).contiguous();
    return stored(none.reshape({m, 1}), order, ne(ordered, next), {}).reshape({m});
}

}  // namespace strata::ops
