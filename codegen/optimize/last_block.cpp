// spread_finish: work that the last block of a kernel does by itself is shared by its threads. Little work is shared by
// those of the first wave, as long as that has stored the block's results.
//
// Before  end(store(out[i], reduce(add, load(part[i * 512 + p]), p)), i)      i, p serial, a block of 256 threads
// After   the same over i = 8 slow + fast, p = 32 slow + fast, the fast parts threads
// As many threads to a result as its reduction has work for, the rest take results beside each other, some at once.
// There are as many threads as the block has: ranges are padded for that; what has none is left to one.
#include <algorithm>
#include <array>
#include <utility>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/action.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFewest = 8;    // threads of a result that read neighbours, where there are many results
constexpr int64_t kUnderWay = 8;  // loads of a thread that do not wait for each other
constexpr int64_t kLittle = 16;   // loads of a thread of the first wave, where others are left without any

int64_t size_of(UOp range) { return range ? range_arg(range).size : 1; }

/// The longest range of an axis; empty: there is none.
UOp longest(UOp sink, Axis axis) {
    UOp best;
    for (UOp r : ranges(sink))
        if (range_arg(r).axis == axis && size_of(r) > size_of(best)) best = r;
    return best;
}

/// The sink with the fast part of a range, if there is one, of `count`, as another axis; padded where that does not
/// divide it.
UOp split(UOp sink, UOp& range, int64_t count, Axis axis) {
    if (count == 1 || !range) return sink;
    const RangeArg arg = range_arg(range);
    const int64_t steps = (arg.size + count - 1) / count;
    if (steps * count != arg.size) {
        const UOp wide = uop::range(steps * count, arg.id, arg.axis);
        sink = widen_range(sink, range, wide);
        range = wide;
    }
    const UOp fast = uop::range(count, next_range_id(sink), axis);
    const UOp slow = steps > 1 ? uop::range(steps, arg.id, arg.axis) : UOp(), old = std::exchange(range, slow);
    if (!slow) return replace_range(sink, old, fast, std::array{fast});
    return replace_range(sink, old, slow * count + fast, std::array{slow, fast});
}

/// True if thread 0 of a block stores all that it does: its threads are those of reductions, and no store is in their
/// ranges.
bool stores_by_one_thread(UOp sink) {
    const auto axis = [](UOp u) { return range_arg(u).axis; };
    for (UOp u : toposort(sink)) {
        if (u.is(Op::range) && (axis(u) == Axis::local || axis(u) == Axis::lane)) return false;
        if (u.is(Op::end) && std::ranges::any_of(u.src().subspan(1), [&](UOp r) { return axis(r) == Axis::group; }))
            return false;
    }
    return true;
}

}  // namespace

Kernel spread_finish(const Kernel& kernel, const Target& target) {
    UOp finish = finish_of(kernel.sink);
    const int64_t block = block_size(kernel), wave = target.wave_size;
    if (!finish || block == 1) return kernel;
    UOp results = longest(finish, Axis::loop), terms = longest(finish, Axis::reduce);
    const bool is_little = size_of(results) * size_of(terms) <= kLittle * wave;
    const bool first_wave = block > wave && is_little && stores_by_one_thread(without_finish(kernel.sink));
    const int64_t threads = first_wave ? wave : block;
    int64_t to_each = terms ? threads : 1;
    const auto more_than_needed = [&] {
        return to_each > std::max<int64_t>(size_of(terms), 1) ||
               (to_each > kFewest && threads / to_each < size_of(results));
    };
    while (results && to_each % 2 == 0 && more_than_needed()) to_each /= 2;
    finish = split(finish, terms, to_each, Axis::group);
    const int64_t unrolled = std::min(size_of(terms), kUnderWay);
    if (terms) finish = split(finish, terms, unrolled, Axis::unroll);
    finish = split(finish, results, threads / to_each, Axis::local);
    int64_t beside = kUnderWay / unrolled;  // results of a thread whose loads do not wait for each other
    while (beside > 1 && size_of(results) % beside) beside /= 2;
    finish = split(finish, results, beside, Axis::upcast);
    return {with_finish(without_finish(kernel.sink), simplify(finish)), kernel.name};
}

}  // namespace strata::codegen
