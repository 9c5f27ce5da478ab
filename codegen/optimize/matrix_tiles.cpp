// tile_matrices: products by matrix instructions, the tiles of their waves and blocks, and what their sides are rounded
// up to.
#include <algorithm>
#include <map>
#include <optional>

#include "strata/codegen/optimize/matmul_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

int64_t product_of_blocks(const Kernel& kernel) {
    int64_t n = 1;
    for (UOp r : ranges(kernel.sink))
        if (range_arg(r).axis == Axis::global) n *= range_arg(r).size;
    return n;
}

/// Rows and columns that a wave computes by matrix instructions, those of a block of four, and waves that a card should
/// have to do.
constexpr int64_t kWaveTile = 64, kBlockTile = 2 * kWaveTile, kManyWaves = 384;

/// Matrix products by groups of four waves, which read tiles of local memory: as wide as leaves a block for each unit.
bool tile_groups(ScheduleBuilder& plan) {
    constexpr int64_t kManyBlocks = 96;
    const int axis = static_cast<int>(plan.axes(ActionKind::matrix).size()) - 1;
    if (axis < 0) return false;
    const UOp steps = plan.axes(ActionKind::matrix)[static_cast<size_t>(axis)];
    for (int64_t i = 0;; ++i) {
        ScheduleBuilder wide = plan;
        if (!wide.add(ActionKind::matrix, axis, i)) return false;
        if (!wide.multiplies_by_warpgroups()) continue;
        for (int64_t waves : {8, 4})
            for (int rows : reused_axes(wide)) {
                ScheduleBuilder tried = wide;
                if (!tried.add(ActionKind::local, rows, waves) ||
                    !tried.add_largest(ActionKind::stage, place_of(tried, steps), {4, 2, 1}))
                    continue;
                if (product_of_blocks(tried.kernel()) < kManyBlocks) continue;
                plan = std::move(tried);
                return true;
            }
    }
}

/// Several tiles of results for each wave. Axes of one side of the product count together; first the one that the
/// instructions go along.
void take_wave_tile(ScheduleBuilder& plan) {
    const std::vector<int> reused = reused_axes(plan);
    const std::vector<UOp> axes = plan.axes(ActionKind::upcast);
    std::map<std::vector<bool>, int64_t> of_side;
    std::vector<int64_t> tiles(reused.size(), 1);
    int64_t waves = product(axes);
    const auto grow = [&](size_t i, int64_t& side) {
        if (2 * side > kWaveTile || plan.size(ActionKind::upcast, reused[i]) % (2 * tiles[i])) return false;
        if (waves / 2 < kManyWaves) return false;
        tiles[i] *= 2, side *= 2, waves /= 2;
        return true;
    };
    std::vector<size_t> last, others;  // of each side
    std::vector<int64_t*> side(reused.size());
    for (size_t i = reused.size(); i-- > 0;) {
        const auto [at, fresh] =
            of_side.try_emplace(loads_without(plan, axes[static_cast<size_t>(reused[i])]), plan.matrix_side());
        side[i] = &at->second;
        (fresh ? last : others).push_back(i);
    }
    for (const std::vector<size_t>* group : {&last, &others})
        for (bool grown = true; grown;) {
            grown = false;
            for (size_t i : *group) grown |= grow(i, *side[i]);
        }
    for (size_t i = reused.size(); i-- > 0;)
        if (tiles[i] > 1) plan.add(ActionKind::upcast, reused[i], tiles[i]);
}

/// By matrix instructions; the reduction that they go along, or nothing.
UOp add_matrix(ScheduleBuilder& plan) {
    for (int axis = static_cast<int>(plan.axes(ActionKind::matrix).size()); axis-- > 0;) {
        const UOp range = plan.axes(ActionKind::matrix)[static_cast<size_t>(axis)];
        if (plan.add(ActionKind::matrix, axis, 0)) return range;
    }
    return {};
}

/// Each wave has several tiles of results, its operands come by way of local memory.
void tile_waves(ScheduleBuilder& plan, UOp steps) {
    take_wave_tile(plan);
    const std::vector<int> left = reused_axes(plan);
    for (size_t i = left.size(); i-- > 0;) plan.add(ActionKind::local, left[i], 2);
    stage_matrices(plan, steps);
}

std::optional<ScheduleBuilder> by_matrices(ScheduleBuilder plan, Rounding rounding) {
    pad_product(plan, rounding);
    const UOp steps = add_matrix(plan);
    if (!steps) return {};
    tile_waves(plan, steps);
    return plan;
}

/// Of a convolution its places are one range.
bool tile_convolution(ScheduleBuilder& plan) {
    ScheduleBuilder padded = plan;
    join_places(padded);
    pad_product(padded);
    if (tile_groups(padded)) return plan = std::move(padded), true;
    const std::vector<UOp> whole = padded.axes(ActionKind::upcast);
    const UOp steps = add_matrix(padded);
    if (!steps) return false;
    plan = std::move(padded);
    tile_windows(plan, whole, steps);
    return true;
}

}  // namespace

bool tile_matrices(ScheduleBuilder& plan) {
    if (reused_axes(plan).size() < 2) return false;
    if (multiplies_windows(plan)) return tile_convolution(plan);
    ScheduleBuilder padded = plan;
    pad_product(padded);
    if (tile_groups(padded)) return plan = std::move(padded), true;
    if (std::optional<ScheduleBuilder> best = by_matrices(plan, {})) {
        const bool is_odd = std::ranges::any_of(reused_axes(plan), [&](int axis) {
            const int64_t size = plan.size(ActionKind::upcast, axis);
            return size >= Rounding::kLarge && size % kBlockTile;
        });
        if (is_odd)
            if (std::optional<ScheduleBuilder> wide = by_matrices(plan, {.tile = kBlockTile});
                wide && wide->cost() < best->cost())
                best = std::move(wide);
        return plan = *std::move(best), true;
    }
    std::optional<ScheduleBuilder> few = by_matrices(plan, {.least = Rounding::kMatrixSide / 2 - 1});
    if (!few) return false;
    ScheduleBuilder without = plan;
    if ((take_few_rows(without) || tile_product(without)) && without.cost() <= few->cost()) return false;
    return plan = *std::move(few), true;
}

}  // namespace strata::codegen
