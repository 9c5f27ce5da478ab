// tile_matrices: products by matrix instructions, the tiles of their waves and blocks, and what their sides are rounded
// up to.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "strata/codegen/cost/cost_model.h"
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

constexpr double kWorthIt = 0.95;  // static costs that are nearer to each other say little
constexpr double kNearer = 0.98;   // the same of two that the cost model has put in order

/// A candidate tile of a product by warpgroups: an instruction, and how many waves of a block share the rows.
struct Grouped {
    ScheduleBuilder plan;  ///< whose waves are not divided yet
    int rows;              ///< the axis of these
    int64_t waves;
    double us;
    size_t number;  ///< among all

    auto order() const { return std::pair(us, number); }
};

/// Matrix products by warpgroups, which read tiles of local memory. The tiles are the cheapest by the cost model among
/// those that leave most units a block.
bool tile_groups(ScheduleBuilder& plan) {
    constexpr int64_t kManyBlocks = 96, kMostBytes = 128;  // of a thread's copies
    const int axis = static_cast<int>(plan.axes(ActionKind::matrix).size()) - 1;
    if (axis < 0) return false;
    const UOp steps = plan.axes(ActionKind::matrix)[static_cast<size_t>(axis)];
    const CostModel costs(plan.target().arch);
    std::vector<Grouped> all;
    for (int64_t i = 0;; ++i) {
        ScheduleBuilder wide = plan;
        if (!wide.add(ActionKind::matrix, axis, i)) break;
        if (!wide.multiplies_by_warpgroups()) continue;
        const MatrixShape& shape = *wide.matrix_shape();
        for (int64_t waves : {12, 8, 4})
            for (int rows : reused_axes(wide)) {
                const int64_t size = wide.size(ActionKind::upcast, rows);
                const int64_t blocks = product_of_blocks(wide.kernel()) / waves;
                if (size % waves || blocks < kManyBlocks) continue;
                const int64_t threads = waves * plan.target().wave_size, height = waves * shape.m;
                int64_t deep = 4 * shape.k;
                while (deep > shape.k &&
                       std::max<int64_t>(height, shape.n) * deep * shape.operand.bytes() > kMostBytes * threads)
                    deep /= 2;
                const ProductTile tile{{shape.m, shape.n}, {waves, 1}, deep};
                all.push_back(
                    {wide, rows, waves, costs.by_warpgroups(shape, tile, blocks, range_arg(steps).size), all.size()});
            }
    }
    std::ranges::sort(all, {}, &Grouped::order);
    for (Grouped& one : all) {
        ScheduleBuilder tried = std::move(one.plan);
        if (!tried.add(ActionKind::local, one.rows, one.waves)) continue;
        order_blocks(tried);
        if (!tried.add_largest(ActionKind::stage, place_of(tried, steps), {4, 2, 1})) continue;
        plan = std::move(tried);
        return true;
    }
    return false;
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

/// By the matrix instruction of this number among those that fit; the reduction that they go along, or nothing.
UOp add_matrix(ScheduleBuilder& plan, int64_t number = 0) {
    for (int axis = static_cast<int>(plan.axes(ActionKind::matrix).size()); axis-- > 0;) {
        const UOp range = plan.axes(ActionKind::matrix)[static_cast<size_t>(axis)];
        if (plan.add(ActionKind::matrix, axis, number)) return range;
    }
    return {};
}

/// The ranges of each side of a product along which its other operand is read again, the last one first; none: there
/// are more sides.
using SideRanges = std::array<std::vector<UOp>, 2>;
std::optional<SideRanges> sides_of_matrices(const ScheduleBuilder& plan) {
    const std::vector<int> reused = reused_axes(plan);
    const std::vector<UOp> axes = plan.axes(ActionKind::upcast);
    std::vector<std::vector<bool>> keys;
    SideRanges sides;
    for (size_t i = reused.size(); i-- > 0;) {
        const UOp range = axes[static_cast<size_t>(reused[i])];
        const std::vector<bool> key = loads_without(plan, range);
        const auto at = static_cast<size_t>(std::ranges::find(keys, key) - keys.begin());
        if (at == sides.size()) return {};
        if (at == keys.size()) keys.push_back(key);
        sides[at].push_back(range);
    }
    return sides;
}

/// Divides the sides by so much each; false: their ranges are no multiples of it.
bool divide(ScheduleBuilder& plan, const SideRanges& sides, ActionKind kind, const std::array<int64_t, 2>& amounts) {
    for (size_t side : {0, 1}) {
        int64_t left = amounts[side];
        for (UOp range : sides[side]) {
            const std::optional<int> axis = plan.place(range);
            const int64_t part = axis ? std::gcd(left, plan.size(kind, *axis)) : 1;
            if (part == 1) continue;
            if (!plan.add(kind, *axis, part)) return false;
            left /= part;
        }
        if (left > 1) return false;
    }
    return true;
}

/// A product by one of the matrix instructions.
struct Instructed {
    ScheduleBuilder plan;
    UOp steps;  ///< the reduction
    SideRanges sides;

    ProductShape shape() const {
        const int64_t side = plan.matrix_side(), rows = product(sides[0]) * side, columns = product(sides[1]) * side;
        const int64_t results = product(plan.axes(ActionKind::upcast)) * side * side;
        return {.rows = rows,
                .columns = columns,
                .depth = range_arg(steps).size,
                .batch = std::max<int64_t>(results / std::max<int64_t>(rows * columns, 1), 1),
                .bytes = plan.narrowest_load(),
                .by_matrix = true};
    }
};

/// Tiles of a wave and waves of a block, and what the cost model takes the product for with them.
struct Candidate {
    const Instructed* product;
    ProductTile tile;
    double us;
    size_t number;  ///< among all

    auto order() const { return std::pair(us, number); }
};

/// Blocks whose operands come by way of local memory, and waves that are blocks of their own.
void add_candidates(const Instructed& product, const CostModel& costs, std::vector<Candidate>& all) {
    constexpr int64_t kMostThreads = 512, kMostSums = 128;  // of a block; of a lane, in registers
    constexpr int64_t kRun = 64, kRunOfBytes = 32;  // bytes along memory that a block reads; elements of one byte
    const int64_t side = product.plan.matrix_side(), deep = product.plan.matrix_shape()->k;
    const int64_t tiles = kBlockTile / side, wave = product.plan.target().wave_size, most = kMostThreads / wave;
    const ProductShape shape = product.shape();
    const int64_t run = shape.bytes == 1 ? kRunOfBytes : kRun;
    for (int64_t rows = 1; rows <= tiles; rows *= 2)
        for (int64_t columns = 1; columns <= tiles; columns *= 2)
            for (int64_t down = 1; down <= most; down *= 2)
                for (int64_t across = 1; down * across <= most; across *= 2) {
                    const int64_t height = rows * down * side, width = columns * across * side;
                    if (rows * columns * side * side > kMostSums * wave || height > shape.rows ||
                        width > shape.columns || height * shape.bytes < std::min(run, shape.rows * shape.bytes) ||
                        width * shape.bytes < std::min(run, shape.columns * shape.bytes))
                        continue;
                    for (int64_t amount : {16, 8, 4, 2, 1}) {
                        const ProductTile tile{{rows * side, columns * side}, {down, across}, amount * deep};
                        all.push_back({&product, tile, costs.product(shape, tile), all.size()});
                    }
                }
}

/// That candidate as a schedule, with the operands of a step brought before it where that costs less; nothing: it does
/// not fit.
std::optional<ScheduleBuilder> made(const Candidate& candidate) {
    const Instructed& product = *candidate.product;
    ScheduleBuilder plan = product.plan;
    const int64_t side = plan.matrix_side(), amount = candidate.tile.steps / plan.matrix_shape()->k;
    const auto& [wave, waves, steps] = candidate.tile;
    if (!divide(plan, product.sides, ActionKind::upcast, {wave[0] / side, wave[1] / side}) ||
        !divide(plan, product.sides, ActionKind::local, waves))
        return {};
    const int place = place_of(plan, product.steps);
    ScheduleBuilder ahead = plan;
    if (!plan.add(ActionKind::stage, place, amount)) return {};
    if (plan.target().ahead == Ahead::scheduled && ahead.add(ActionKind::double_buffer, place, amount) &&
        ahead.cost() < plan.cost())
        return ahead;
    return plan;
}

/// Each wave has several tiles of results, its operands come by way of local memory: as many as leave waves for a whole
/// card.
void tile_waves(ScheduleBuilder& plan, UOp steps) {
    take_wave_tile(plan);
    const std::vector<int> left = reused_axes(plan);
    for (size_t i = left.size(); i-- > 0;) plan.add(ActionKind::local, left[i], 2);
    stage_matrices(plan, steps);
}

/// The schedule of least cost among those whose tiles the cost model takes for the best, by each instruction. The usual
/// tiles, where that is about as much.
std::optional<ScheduleBuilder> best_tiles(std::span<const Instructed> products) {
    constexpr size_t kTried = 12;
    std::optional<ScheduleBuilder> best;
    double least = 0;
    for (const Instructed& product : products) {
        if (!best) {
            best = product.plan;
            tile_waves(*best, product.steps);
            least = kWorthIt * best->cost();
        }
        std::vector<Candidate> candidates;
        add_candidates(product, CostModel(product.plan.target().arch), candidates);
        std::ranges::sort(candidates, {}, &Candidate::order);
        size_t tried = 0;
        for (const Candidate& candidate : candidates) {
            if (tried == kTried) break;
            std::optional<ScheduleBuilder> plan = made(candidate);
            if (!plan) continue;
            ++tried;
            if (const double cost = plan->cost(); cost < least) best = std::move(plan), least = kNearer * cost;
        }
    }
    return best;
}

std::optional<ScheduleBuilder> by_matrices(ScheduleBuilder plan, Rounding rounding) {
    pad_product(plan, rounding);
    std::vector<Instructed> products;
    for (int64_t number = 0; plan.target().arch.is_amd(); ++number) {
        ScheduleBuilder one = plan;
        const UOp steps = add_matrix(one, number);
        if (!steps) break;
        if (one.multiplies_by_warpgroups()) continue;  // tile_groups has tried them
        // Those of wider operands multiply at a lower rate.
        if (!products.empty() && one.matrix_shape()->operand.bytes() > products[0].plan.matrix_shape()->operand.bytes())
            break;
        if (std::optional<SideRanges> sides = sides_of_matrices(one); sides)
            products.push_back({std::move(one), steps, *std::move(sides)});
    }
    if (std::optional<ScheduleBuilder> best = best_tiles(products)) return best;
    const UOp steps = add_matrix(plan);
    if (!steps) return {};
    tile_waves(plan, steps);
    return plan;
}

/// The places of a convolution are one range.
bool tile_convolution(ScheduleBuilder& plan) {
    ScheduleBuilder padded = plan;
    join_places(padded);
    pad_product(padded);
    if (tile_groups(padded)) return plan = std::move(padded), true;
    const std::vector<UOp> whole = padded.axes(ActionKind::upcast);
    std::optional<ScheduleBuilder> best;
    int narrowest = 0;  // bytes of an operand of the first instruction
    for (int64_t number = 0;; ++number) {
        ScheduleBuilder tiled = padded;
        const UOp steps = add_matrix(tiled, number);
        if (!steps) break;
        if (tiled.multiplies_by_warpgroups()) continue;  // tile_groups has tried them
        const int bytes = tiled.matrix_shape()->operand.bytes();
        if (best && bytes > narrowest) break;
        tile_windows(tiled, whole, steps);
        if (!best) narrowest = bytes;
        if (!best || tiled.cost() < kWorthIt * best->cost()) best = std::move(tiled);
    }
    if (best) plan = *std::move(best);
    return best.has_value();
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
                wide && wide->cost() < kWorthIt * best->cost())
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
