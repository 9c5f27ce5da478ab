// arrange_threads: which range of a block varies fastest from lane to lane.
//
// The cost of a range as threadIdx.x is the distance in memory between neighbouring lanes, summed over the accesses to
// global memory: 0 for one address in all lanes, 1 for neighbours, a cache line's worth at most. The cheapest comes
// first; among equals the one made last. Lanes of matrices come before all others.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

constexpr int64_t kLine = 32;  // elements; further apart is no worse

int64_t apply(Op op, int64_t a, int64_t b) {
    switch (op) {
        case Op::add: return a + b;
        case Op::sub: return a - b;
        case Op::mul: return a * b;
        case Op::idiv: return b ? a / b : 0;
        case Op::mod: return b ? a % b : 0;
        case Op::max: return std::max(a, b);
        case Op::min: return std::min(a, b);
        case Op::cmplt: return a < b;
        case Op::bit_and: return a & b;
        default: return 0;  // values from memory and the like do not move with the lane
    }
}

/// The offset's value where `range` is `at` and every other range 0.
int64_t evaluate(std::span<const UOp> order, UOp range, int64_t at) {
    UOpMap<int64_t> value;
    for (UOp u : order) {
        int64_t& v = value[u];
        auto source = [&](size_t i) { return value.at(u.src(i)); };
        if (u.is(Op::range))
            v = u == range ? at : 0;
        else if (u.is_const() && !u.dtype().is_float())
            v = const_int(u);
        else if (u.is(Op::cast) && u.dtype().is_integer() && !u.src(0).dtype().is_float())
            v = source(0);
        else if (u.is(Op::where))
            v = source(0) ? source(1) : source(2);
        else if (info(u.op()).is(kBinary) && u.src(0).dtype().is_integer())
            v = apply(u.op(), source(0), source(1));
    }
    return value.at(order.back());
}

int64_t lane_distance(std::span<const UOp> offsets, UOp range) {
    int64_t cost = 0;
    for (UOp offset : offsets) {
        std::vector<UOp> order = toposort(offset);
        cost += std::min(std::abs(evaluate(order, range, 1) - evaluate(order, range, 0)), kLine);
    }
    return cost;
}

ThreadOrder thread_order(UOp sink) {
    Scopes scopes(sink);
    ThreadOrder threads = scopes.list(scopes.with_axis({Axis::lane, Axis::local, Axis::group}));
    std::erase_if(threads, [](UOp r) { return range_arg(r).size == 1; });
    if (threads.size() < 2) return threads;
    std::vector<UOp> offsets;
    for (UOp u : scopes.order())
        if (u.is(Op::index) && skip_after(u.src(0)).as<ParamArg>().space == Space::global) offsets.push_back(u.src(1));
    std::sort(offsets.begin(), offsets.end(), [](UOp a, UOp b) { return a.node() < b.node(); });
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    UOpMap<int64_t> cost;
    for (UOp r : threads) cost[r] = lane_distance(offsets, r);
    auto key = [&](UOp r) {
        const RangeArg& arg = range_arg(r);
        return std::pair(arg.axis == Axis::lane ? int64_t{-1} : cost.at(r), -arg.id);
    };
    std::sort(threads.begin(), threads.end(), [&](UOp a, UOp b) { return key(a) < key(b); });
    return threads;
}

}  // namespace

Result<UOp> arrange_threads(UOp sink, Context& context) {
    context.threads = thread_order(sink);
    return sink;
}

}  // namespace strata::codegen
