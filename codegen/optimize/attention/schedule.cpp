// attention_schedule: flash attention. Kernels of attention (codegen/schedule/attention.h). The threads of a row share
// the products of its scores and then have the columns of its sum. Rows that read the same keys stand side by side.
#include <algorithm>

#include "strata/codegen/optimize/action.h"
#include "strata/codegen/optimize/attention/parts_p.h"
#include "strata/codegen/optimize/attention_p.h"
#include "strata/codegen/optimize/cost.h"
#include "strata/codegen/optimize/schedule_builder_p.h"
#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/target/rates.h"
#include "strata/codegen/target/read_ahead.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/uop.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

using Threads = AttentionThreads;
constexpr int64_t kMostLanes = 32;  // that share products
constexpr int64_t kFewestKeys = 8;  // of a thread

bool has_exponential(UOp product) {
    return std::ranges::any_of(toposort(product, [](UOp u) { return !u.is(Op::mul); }),
                               [](UOp u) { return u.is(Op::exp) || u.is(Op::exp2); });
}

/// The ranges of such a kernel, by ids, which the outer part of a range that is split keeps.
struct Ranges {
    int keys = -1;  ///< what its maximum and its sums walk
    int row = -1;   ///< of products, which are columns too
};

Ranges ranges_of(UOp sink) {
    Ranges found;
    const std::vector<UOp> nodes = toposort(sink);
    for (UOp u : nodes)
        if (u.is(Op::reduce) && u.src().size() == 2 && u.as<ReduceArg>().op == Op::add && has_exponential(u.src(0)))
            for (UOp top : nodes)
                if (top.is(Op::reduce) && top.as<ReduceArg>().op == Op::max && closes(top, u.src(1)))
                    found.keys = range_arg(u.src(1)).id;
    for (UOp u : nodes)
        if (u.is(Op::end))
            for (UOp r : u.src().subspan(1))
                if (range_arg(r).axis == Axis::reduce) found.row = range_arg(r).id;
    return found;
}

/// True if a load reads elsewhere in the second step of a range.
bool moves_with_step(UOp load, UOp range) {
    const UOp offset = load.src(0).src(1);
    if (!depends_on(offset, range)) return false;
    const auto at = [&](int64_t step) { return simplify(substitute(offset, {{range, index_const(step)}})); };
    return at(0) != at(1);
}

/// The output range that the fewest loads change with: its steps read the same keys.
int rows_range(const Kernel& kernel) {
    std::vector<UOp> loads;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::load)) loads.push_back(u);
    int best = -1;
    size_t fewest = loads.size() + 1;
    for (UOp r : axes_of(kernel, ActionKind::local)) {
        const size_t n =
            static_cast<size_t>(std::ranges::count_if(loads, [&](UOp load) { return moves_with_step(load, r); }));
        if (n <= fewest) fewest = n, best = range_arg(r).id;
    }
    return best;
}

int64_t largest_power(int64_t n, int64_t most) {
    int64_t power = 1;
    while (power * 2 <= most && n % (power * 2) == 0) power *= 2;
    return power;
}

/// The threads of a row beside each other, each with neighbouring columns. Returns their number.
int64_t share_columns(ScheduleBuilder& plan, int row) {
    if (const int64_t size = plan.size_of(row); size % 4 != 0)
        plan.add_to(ActionKind::pad, row, size > 4 * kMostLanes ? kMostLanes : size > Threads::kColumns ? 8 : 4);
    const int64_t columns = plan.size_of(row);
    const int64_t lanes =
        largest_power(columns, std::min((columns + Threads::kColumns - 1) / Threads::kColumns, kMostLanes));
    if (columns % (lanes * 4) == 0) plan.add_to(ActionKind::unroll, row, 4);
    if (lanes > 1) plan.add_to(ActionKind::group, row, lanes);
    if (plan.size_of(row) > 1) plan.add_to(ActionKind::unroll, row, plan.size_of(row));
    return lanes;
}

/// Threads that have some of a row's keys each, until the machine is full. Returns their number.
int64_t share_keys(ScheduleBuilder& plan, int keys, int64_t lanes, int64_t rows) {
    const int64_t count = plan.size_of(keys);
    int64_t threads = 1;
    while (2 * threads * lanes <= Threads::kMostOfARow && count >= 2 * threads * kFewestKeys &&
           (threads < 4 || rows * lanes * threads < Threads::kOfCard))
        threads *= 2;
    const int64_t whole = threads * Threads::kSteps;
    if (count % whole != 0 && !(count > whole && plan.add_to(ActionKind::pad, keys, whole)) &&
        count % Threads::kSteps != 0)
        plan.add_to(ActionKind::pad, keys, Threads::kSteps);
    if (plan.size_of(keys) > Threads::kSteps) plan.add_to(ActionKind::unroll, keys, Threads::kSteps);
    return threads > 1 && plan.add_to(ActionKind::group, keys, threads) ? threads : 1;
}

int64_t blocks_of(const Kernel& kernel) {
    int64_t blocks = 1;
    for (UOp r : ranges(kernel.sink))
        if (range_arg(r).axis == Axis::global) blocks *= range_arg(r).size;
    return blocks;
}

/// The first tile that fits, which reads keys least often. Of AMD's it is the one of least cost among all where its
/// blocks leave units without work. Of CDNA's it is that among those of as many rows in any case: fewer keys leave
/// local memory for a second block.
std::optional<Scheduled> best_tile(const Kernel& kernel, int keys, const Target& target) {
    const bool is_weighed = reads_matrices_ahead(target);
    constexpr double kWorthIt = 0.95;  // static costs that are nearer to each other say little
    std::optional<Scheduled> best;
    double least = 0;
    int64_t blocks = 0;  // of the first tile
    for (int64_t tile = 0;; ++tile) {
        ScheduleBuilder plan(kernel, target);
        if (!plan.add_to(ActionKind::matrix, keys, tile)) return best;
        Scheduled tried = plan.take();
        const int64_t count = blocks_of(tried.kernel);
        if (!best) blocks = count;
        const bool is_full = blocks >= rates_of(target.arch).units;
        if (!best && (!target.arch.is_amd() || (is_full && !is_weighed))) return tried;
        if (is_full && count > blocks) return best;
        // Keys and sums of a tile come from caches and local memory, whose parts of a cost are those of all blocks.
        const StaticCost cost = static_cost(tried.kernel, target);
        const double clocks = std::max({cost.vector, cost.matrix, cost.latency});
        if (!best || clocks < kWorthIt * least) best = std::move(tried), least = clocks;
    }
}

/// Tiles of matrix instructions, where products are made again inside of another reduction.
std::optional<Scheduled> schedule_by_matrices(const Kernel& kernel, const Target& target) {
    const std::vector<UOp> nodes = toposort(kernel.sink);
    if (std::ranges::count_if(nodes, [](UOp u) { return u.is(Op::reduce); }) < 2) return {};
    for (UOp r : ranges(kernel.sink)) {
        if (range_arg(r).axis != Axis::reduce || !attention_parts(kernel.sink, r, target)) continue;
        if (std::optional<Scheduled> best = best_tile(kernel, range_arg(r).id, target)) return best;
    }
    return {};
}

}  // namespace

std::optional<Scheduled> attention_schedule(const Kernel& kernel, const Target& target) {
    if (std::optional<Scheduled> by_matrices = schedule_by_matrices(kernel, target)) return by_matrices;
    const Ranges is = ranges_of(kernel.sink);
    if (is.keys < 0 || is.row < 0 || is.row == is.keys) return {};
    ScheduleBuilder plan(kernel, target);
    int64_t rows = 1;
    for (UOp r : axes_of(kernel, ActionKind::local)) rows *= range_arg(r).size;
    int64_t threads = share_columns(plan, is.row);
    threads *= share_keys(plan, is.keys, threads, rows);
    if (const int beside = rows_range(kernel); beside >= 0)
        if (const int64_t amount = largest_power(plan.size_of(beside), Threads::kBlock / threads); amount > 1)
            plan.add_to(ActionKind::local, beside, amount);
    return plan.take();
}

}  // namespace strata::codegen
