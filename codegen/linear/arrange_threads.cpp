// arrange_threads: which range of a block varies fastest from lane to lane.
//
// The cost of a range as threadIdx.x is the distance in memory between neighbouring lanes, summed over the accesses to
// global memory as often as a thread makes them: 0 for what is one line in all lanes, a line's worth at most; among equals
// it is summed over the accesses once each, 0 for one address. The cheapest comes first, then the one made last. Lanes of
// matrices come before all others.
#include <algorithm>
#include <compare>
#include <tuple>

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

/// Where a thread goes in memory, and how often it does.
struct Visited {
    UOp offset;
    double times;
};

/// A thread's steps of the ranges that an access is in.
double times_of(UOp index, const Scopes& scopes) {
    double times = 1;
    for (UOp r : scopes.list(scopes.free(index)))
        if (const RangeArg& arg = range_arg(r);
            arg.axis == Axis::reduce || arg.axis == Axis::loop || arg.axis == Axis::unroll || arg.axis == Axis::upcast)
            times *= static_cast<double>(arg.size);
    return times;
}

struct LaneCost {
    double of_all = 0;
    int64_t once = 0;
    auto operator<=>(const LaneCost&) const = default;
};
LaneCost lane_cost(std::span<const Visited> all, UOp range) {
    LaneCost cost;
    for (const Visited& visited : all) {
        const std::vector<UOp> order = toposort(visited.offset);
        const int64_t apart = std::min(std::abs(evaluate(order, range, 1) - evaluate(order, range, 0)), kLine);
        if (apart * range_arg(range).size > kLine) cost.of_all += visited.times * static_cast<double>(apart);
        cost.once += apart;
    }
    return cost;
}

ThreadOrder thread_order(UOp sink) {
    Scopes scopes(sink);
    ThreadOrder threads = scopes.list(scopes.with_axis({Axis::lane, Axis::local, Axis::group}));
    std::erase_if(threads, [](UOp r) { return range_arg(r).size == 1; });
    if (threads.size() < 2) return threads;
    std::vector<Visited> visited;
    UOpMap<bool> seen;  // offsets
    for (UOp u : scopes.order())
        if (u.is(Op::index) && skip_after(u.src(0)).as<ParamArg>().space == Space::global &&
            seen.try_emplace(u.src(1), true).second)
            visited.push_back({u.src(1), times_of(u, scopes)});
    UOpMap<LaneCost> cost;
    for (UOp r : threads) cost[r] = lane_cost(visited, r);
    auto key = [&](UOp r) {
        const RangeArg& arg = range_arg(r);
        const bool is_lane = arg.axis == Axis::lane;
        return std::tuple(!is_lane, is_lane ? LaneCost{} : cost.at(r), -arg.id);
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
