// spread_finish: what the last block of a kernel computes by itself is shared by the threads that it has.
//
// Before  end(store(out[i], reduce(add, load(part[i * 512 + p]), p)), i)      i, p serial, a block of 256 threads
// After   the same over i = 8 slow + fast, p = 32 slow + fast, the fast parts threads
// As many threads to a result as its reduction has work for, the rest take results beside each other. There are as many threads as
// the block has: ranges are padded for that.
#include <algorithm>
#include <array>
#include <bit>

#include "strata/codegen/kernel/finish.h"
#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/action.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFewest = 8;  // threads of a result that read neighbours, where there are many results

int64_t size_of(UOp range) { return range ? range_arg(range).size : 1; }

/// The longest range of an axis; empty: there is none.
UOp longest(UOp sink, Axis axis) {
    UOp best;
    for (UOp r : ranges(sink))
        if (range_arg(r).axis == axis && size_of(r) > size_of(best)) best = r;
    return best;
}

/// The sink with the fast part of a range as threads, so many of them.
UOp shared(UOp sink, UOp range, int64_t threads, Axis axis) {
    if (threads == 1) return sink;
    const RangeArg arg = range_arg(range);
    const int64_t steps = (arg.size + threads - 1) / threads;
    if (steps * threads != arg.size) {
        const UOp wide = uop::range(steps * threads, arg.id, arg.axis);
        sink = widen_range(sink, range, wide);
        range = wide;
    }
    const UOp fast = uop::range(threads, next_range_id(sink), axis);
    if (steps == 1) return replace_range(sink, range, fast, std::array{fast});
    const UOp slow = uop::range(steps, arg.id, arg.axis);
    return replace_range(sink, range, slow * threads + fast, std::array{slow, fast});
}

}  // namespace

Kernel spread_finish(const Kernel& kernel) {
    const int64_t threads = block_size(kernel);
    UOp finish = finish_of(kernel.sink);
    if (!finish || threads == 1) return kernel;
    const UOp results = longest(finish, Axis::loop), terms = longest(finish, Axis::reduce);
    STRATA_CHECK(results || terms, "{}: a finish of one number", kernel.name);
    int64_t to_each = terms ? threads : 1;
    const auto more_than_needed = [&] {
        return to_each > std::max<int64_t>(size_of(terms), 1) ||
               (to_each > kFewest && threads / to_each < size_of(results));
    };
    while (results && to_each % 2 == 0 && more_than_needed()) to_each /= 2;
    finish = shared(finish, terms, to_each, Axis::group);
    finish = shared(finish, results, threads / to_each, Axis::local);
    return {with_finish(without_finish(kernel.sink), simplify(finish)), kernel.name};
}

}  // namespace strata::codegen
