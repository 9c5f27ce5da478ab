// Products one of whose factors is read in windows: convolutions and their gradients.
#include <algorithm>
#include <array>
#include <optional>

#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/matmul_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSide = 16;  // rows of the smallest instruction

/// The factors of what is added up along a range; empty where it is no product.
std::span<const UOp> factors_along(UOp sink, UOp range) {
    for (UOp u : toposort(sink)) {
        if (!u.is(Op::reduce) || !closes(u, range)) continue;
        UOp body = u.src(0);
        while (body.is(Op::cast) || (body.is(Op::where) && body.src(2).is_const(0)))
            body = body.src(body.is(Op::cast) ? 0 : 1);
        return body.is(Op::mul) ? body.src() : std::span<const UOp>();
    }
    return {};
}

/// The output ranges of which instructions have tiles, one of each operand; `whole`: those ranges before.
std::array<UOp, 2> sides_of_tiles(const ScheduleBuilder& plan, std::span<const UOp> whole) {
    UOp product;
    for (UOp u : toposort(plan.kernel().sink))
        if (u.is(Op::wmma)) product = u;
    std::array<UOp, 2> sides;
    for (UOp r : plan.axes(ActionKind::upcast)) {
        if (std::ranges::find(whole, r) != whole.end()) continue;
        for (size_t i : {0, 1})
            if (depends_on(product.src(i), r) && !depends_on(product.src(1 - i), r)) sides[i] = r;
    }
    return sides;
}

/// How a block's tile is made: of instructions' tiles of a wave, of waves, along each side.
struct WaveTiles {
    std::array<int64_t, 2> tiles, waves;
};

/// Those of at most `waves` waves, and of fewer than four only where `few`.
std::vector<WaveTiles> wave_tiles(int64_t most, int64_t waves, bool few) {
    constexpr int64_t kFewWaves = 4;  // below which a unit has too few to hide what they wait for
    std::vector<WaveTiles> all;
    for (int64_t rows = 1; rows <= most; rows *= 2)
        for (int64_t columns = 1; columns <= most; columns *= 2)
            for (int64_t down = 1; down <= waves; down *= 2)
                for (int64_t across = 1; down * across <= waves; across *= 2)
                    if ((down * across < kFewWaves) == few) all.push_back({{rows, columns}, {down, across}});
    return all;
}

bool take(ScheduleBuilder& plan, const std::array<UOp, 2>& sides, const WaveTiles& wanted) {
    for (size_t i : {0, 1}) {
        if (!sides[i] && wanted.tiles[i] * wanted.waves[i] > 1) return false;
        if (wanted.tiles[i] > 1 && !plan.add(ActionKind::upcast, *plan.place(sides[i]), wanted.tiles[i])) return false;
        if (wanted.waves[i] == 1) continue;
        const std::optional<int> left = plan.place(sides[i]);
        if (!left || !plan.add(ActionKind::local, *left, wanted.waves[i])) return false;
    }
    return true;
}

/// True if memory goes on from step to step of a range that instructions have whole tiles of.
bool goes_along(UOp factor, UOp range) {
    return range_arg(range).size % kSide == 0 && std::ranges::any_of(toposort(factor), [&](UOp u) {
               return u.is(Op::load) && step_of(u.src(0).src(1), range) == 1;
           });
}

}  // namespace

void join_places(ScheduleBuilder& plan) {
    const std::span<const UOp> factors = factors_along(plan.kernel().sink, plan.axes(ActionKind::unroll)[0]);
    if (factors.empty()) return;
    std::array<std::vector<UOp>, 2> sides;
    for (UOp r : plan.axes(ActionKind::join))
        for (size_t i : {0, 1})
            if (depends_on(factors[i], r) && !depends_on(factors[1 - i], r)) sides[i].push_back(r);
    for (size_t i : {0, 1}) {
        std::vector<UOp>& side = sides[i];
        if (std::ranges::any_of(side, [&](UOp r) { return r != side.back() && goes_along(factors[i], r); })) continue;
        while (side.size() > 1) {
            const int slow = *plan.place(side[side.size() - 2]), fast = *plan.place(side.back());
            if (!plan.add(ActionKind::join, slow, fast - slow)) break;
            side.pop_back();
        }
    }
}

bool multiplies_windows(const ScheduleBuilder& plan) {
    if (plan.axes(ActionKind::unroll).size() != 1) return false;
    if (is_convolution_like(plan)) return true;
    // Rows that begin inside of the row before.
    const UOp along = plan.axes(ActionKind::unroll)[0];
    for (const Walked& walked : walked_memory(plan.kernel()))
        for (UOp r : plan.axes(ActionKind::upcast)) {
            const std::optional<int64_t> step = step_of(walked.offset, along), apart = step_of(walked.offset, r);
            if (step && apart && *step > 0 && *apart > *step && *apart < *step * range_arg(along).size) return true;
        }
    return false;
}

void tile_windows(ScheduleBuilder& plan, std::span<const UOp> whole, UOp reduction) {
    constexpr int64_t kMost = 64, kMostThreads = 256;  // rows of a wave's tile; threads of a block
    const std::array<UOp, 2> sides = sides_of_tiles(plan, whole);
    std::optional<ScheduleBuilder> best;
    double least = 0;
    for (bool few : {false, true}) {
        if (best) break;
        for (const WaveTiles& tiles :
             wave_tiles(kMost / plan.matrix_side(), kMostThreads / plan.target().wave_size, few)) {
            ScheduleBuilder tiled = plan;
            if (!take(tiled, sides, tiles)) continue;
            stage_matrices(tiled, reduction);
            const double cost = tiled.cost();
            if (!best || cost < least) best = std::move(tiled), least = cost;
        }
    }
    if (best) plan = *std::move(best);
}

}  // namespace strata::codegen
