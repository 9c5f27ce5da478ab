// Matrix products without a search: tiles that threads and blocks compute, chosen by how many blocks they leave a card.
#include "strata/codegen/optimize/matmul_p.h"

#include <algorithm>
#include <array>
#include <optional>

#include "strata/codegen/kernel/offset_of_ranges.h"
#include "strata/codegen/target/rates.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

void pad_product(ScheduleBuilder& plan, const std::vector<UOp>& sides, Rounding rounding) {
    const auto round = [&](UOp range, int64_t tile) {
        const int64_t size = range_arg(range).size;
        const int64_t multiple = size >= Rounding::kLarge ? tile : Rounding::kMatrixSide;
        if (size > rounding.least && size % multiple) plan.pad(range, multiple);
    };
    const std::vector<UOp> along = plan.axes(ActionKind::unroll);
    for (UOp side : sides) round(side, rounding.tile);
    for (UOp range : along) round(range, Rounding::kTile);
}

/// The output ranges of each factor of a product, that is those which the same loads do not depend on; the last ones
/// first.
struct Sides {
    std::vector<UOp> rows, columns;
};
std::optional<Sides> sides_of(const ScheduleBuilder& plan) {
    const std::vector<UOp> axes = plan.axes(ActionKind::upcast);
    std::vector<bool> of_columns, of_rows;
    Sides sides;
    for (size_t i = axes.size(); i-- > 0;) {
        const std::vector<bool> free = loads_without(plan, axes[i]);
        if (std::ranges::find(free, true) == free.end()) continue;
        if (sides.columns.empty()) of_columns = free;
        if (free == of_columns) {
            sides.columns.push_back(axes[i]);
            continue;
        }
        if (sides.rows.empty()) of_rows = free;
        if (free == of_rows) sides.rows.push_back(axes[i]);
    }
    return sides.rows.empty() ? std::nullopt : std::optional(std::move(sides));
}

/// The tile of a matrix product that a block computes. It has rows and columns of a thread and of threads, steps of the
/// reduction that a thread unrolls, and those that local memory holds.
struct ThreadTiles {
    struct Side {
        int64_t near, threads, far;  ///< near: neighbours of a thread; far: as many again, after those of all threads
        int64_t size() const { return near * threads * far; }
    };
    Side rows, columns;
    int64_t unrolled, steps;
    int64_t blocks;  ///< of two units, which it should leave at least
    int64_t size() const { return rows.size() * columns.size(); }
};
constexpr ThreadTiles kProductTiles[] = {{{4, 8, 2}, {8, 16, 1}, 2, 16, 5},
                                         {{4, 8, 2}, {8, 8, 1}, 2, 8, 4},
                                         {{4, 8, 2}, {4, 16, 1}, 4, 8, 2},
                                         {{4, 8, 1}, {4, 8, 1}, 4, 8, 4},
                                         {{4, 4, 1}, {2, 16, 1}, 4, 8, 0}};

/// Where a factor's neighbours are read one by one: lanes beside each other have what is beside each other.
constexpr ThreadTiles kWindowTiles[] = {
    {{4, 4, 2}, {2, 16, 2}, 4, 8, 4}, {{4, 4, 2}, {2, 8, 2}, 4, 8, 4}, {{4, 4, 1}, {2, 16, 1}, 4, 8, 0}};

/// The same where copies go on by themselves: steps are copied an element at a time, several ahead. On an H100 float32
/// products of 4096 reach 48.1 and 47.8 TFLOP/s so, for 40.7 by the first tile of kProductTiles.
constexpr ThreadTiles kCopiedTiles[] = {{{4, 16, 2}, {4, 16, 4}, 1, 16, 6}, {{4, 8, 2}, {4, 8, 4}, 1, 16, 4}};

/// The split of a side, range by range: an amount each of a thread, of threads, of a thread again.
struct Taken {
    size_t range;
    ActionKind kind;
    int64_t amount;
};
std::vector<Taken> split_side(std::span<const UOp> ranges, const ThreadTiles::Side& side) {
    std::vector<int64_t> sizes;
    for (UOp r : ranges) sizes.push_back(range_arg(r).size);
    std::vector<Taken> all;
    const auto take = [&](ActionKind kind, int64_t wanted) {
        for (size_t i = 0; i < sizes.size() && wanted > 1; ++i) {
            int64_t amount = wanted;
            while (amount > 1 && sizes[i] % amount) amount /= 2;
            if (amount < 2) continue;
            all.push_back({i, kind, amount});
            sizes[i] /= amount, wanted /= amount;
        }
    };
    take(ActionKind::upcast, side.near);
    take(ActionKind::local, side.threads);
    take(ActionKind::upcast, side.far);
    return all;
}
bool fits(std::span<const UOp> ranges, const ThreadTiles::Side& side) {
    int64_t size = 1;
    for (const Taken& taken : split_side(ranges, side)) size *= taken.amount;
    return size == side.size();
}

const ThreadTiles* first_that_fits(std::span<const ThreadTiles> tiles, const ScheduleBuilder& plan,
                                   const Sides& sides) {
    const int64_t results = product(plan.axes(ActionKind::upcast)), units = rates_of(plan.target().arch).units;
    const auto found = std::ranges::find_if(tiles, [&](const ThreadTiles& tile) {
        return fits(sides.rows, tile.rows) && fits(sides.columns, tile.columns) &&
               2 * results >= tile.blocks * units * tile.size();
    });
    return found == tiles.end() ? nullptr : &*found;
}
const ThreadTiles& tile_for(const ScheduleBuilder& plan, const Sides& sides) {
    const std::span<const ThreadTiles> tiles =
        is_convolution_like(plan) ? std::span<const ThreadTiles>(kWindowTiles) : kProductTiles;
    const ThreadTiles* const found = first_that_fits(tiles, plan, sides);
    return found ? *found : tiles.back();
}

/// Threads of further ranges of the columns and rows where those of the tile are less than a wave and blocks are many.
void fill_waves(ScheduleBuilder& plan, const Sides& sides) {
    constexpr int64_t kLeast = 8;  // times what a range is rounded up to
    const int64_t units = rates_of(plan.target().arch).units;
    for (const std::vector<UOp>* side : {&sides.columns, &sides.rows})
        for (UOp range : *side) {
            const int64_t wanted = plan.target().wave_size / block_size(plan.kernel());
            const auto axis = plan.place(range);
            if (wanted < 2 || !axis || product(plan.axes(ActionKind::local)) < 2 * units) continue;
            const int64_t size = plan.size(ActionKind::local, *axis);
            if (size % wanted && size >= kLeast * wanted)
                plan.pad(plan.axes(ActionKind::local)[static_cast<size_t>(*axis)], wanted);
            for (int64_t threads = wanted; threads > 1; threads /= 2)
                if (plan.add(ActionKind::local, *plan.place(range), threads)) break;
        }
}

/// Tiles of a wave or less with long reductions: several waves share each of them. Without that they wait for memory.
bool share_tile(ScheduleBuilder& plan) {
    constexpr int64_t kLong = 64, kLeastSteps = 8;  // of what is left to unroll
    if (block_size(plan.kernel()) > plan.target().wave_size || plan.axes(ActionKind::group).empty()) return false;
    const int64_t steps = plan.size(ActionKind::group, 0);
    if (steps < kLong) return false;
    for (const int64_t groups : {16, 8, 4})
        if (steps / groups >= kLeastSteps && plan.add(ActionKind::group, 0, groups)) return true;
    return false;
}

void take_sides(ScheduleBuilder& plan, const ThreadTiles& tile, const Sides& sides) {
    for (const auto& [ranges, side] : {std::pair(sides.columns, tile.columns), std::pair(sides.rows, tile.rows)})
        for (const Taken& taken : split_side(ranges, side))
            if (const auto axis = plan.place(ranges[taken.range])) plan.add(taken.kind, *axis, taken.amount);
}

int64_t staged_operands(const Kernel& kernel) {
    return std::ranges::count_if(toposort(kernel.sink),
                                 [](UOp u) { return u.is(Op::param) && u.as<ParamArg>().space == Space::local; });
}

/// Padded sides have masks, which asynchronous copies have not.
bool take_copied(ScheduleBuilder& plan, const Sides& sides) {
    if (plan.target().ahead != Ahead::copies || plan.narrowest_load() != 4 || plan.widest_sum() != 4) return false;
    if (is_convolution_like(plan)) return false;
    // The small tile's threads have too many copies where those of the columns are of an element each.
    const bool wide = plan.walked_by_one(sides.columns[0], false) > 0;
    const ThreadTiles* const tile =
        first_that_fits(std::span<const ThreadTiles>(kCopiedTiles, wide ? 2 : 1), plan, sides);
    if (!tile) return false;
    ScheduleBuilder tried = plan;
    take_sides(tried, *tile, sides);
    if (!tried.add(ActionKind::async_copy, longest_axis(tried, ActionKind::async_copy), tile->steps) ||
        staged_operands(tried.kernel()) != 2)
        return false;
    plan = std::move(tried);
    return true;
}

void take(ScheduleBuilder& plan, const ThreadTiles& tile, const Sides& sides, bool shared) {
    take_sides(plan, tile, sides);
    fill_waves(plan, sides);
    plan.add_largest(ActionKind::unroll, longest_axis(plan, ActionKind::unroll), {tile.unrolled, 2});
    if (shared && share_tile(plan)) return;
    // Bytes stay as they are in memory, where four of them are one operand of a dot product.
    if (plan.narrowest_load() > 1) add_tiles(plan, longest_axis(plan, ActionKind::stage), {tile.steps, 4, 2});
}

/// The tile of a wave whose lanes have rows and share the columns, which scalar registers hold. Local memory is read
/// once for as many products as there are columns. Waves beside each other, groups of waves share the reduction.
struct WaveTile {
    int64_t rows, columns, waves, unrolled, groups, steps;
    int64_t size(int64_t lanes) const { return rows * lanes * columns * waves; }
};
constexpr WaveTile kTileOfWaves = {4, 32, 2, 2, 4, 8};
constexpr int64_t kManyWaveTiles = 64;

/// One scalar load reads up to 16 neighbours. Columns that lie apart would take a load and an address each, and wait in
/// turn.
bool take_by_waves(ScheduleBuilder& plan, const WaveTile& tile, int rows, int columns) {
    const int64_t lanes = plan.target().wave_size;
    if (plan.walked_by_one(plan.axes(ActionKind::upcast)[static_cast<size_t>(columns)], false) == 0) return false;
    if (!plan.target().arch.is_amd() || plan.narrowest_load() != 4 || plan.widest_sum() != 4) return false;
    if (product(plan.axes(ActionKind::upcast)) < kManyWaveTiles * tile.size(lanes)) return false;
    ScheduleBuilder tried = plan;
    const bool fits = tried.add(ActionKind::upcast, columns, tile.columns) &&
                      tried.add(ActionKind::local, columns, tile.waves) &&
                      tried.add(ActionKind::upcast, rows, tile.rows) && tried.add(ActionKind::lane, rows, lanes) &&
                      tried.add(ActionKind::unroll, 0, tile.unrolled) && tried.add(ActionKind::group, 0, tile.groups) &&
                      tried.add(ActionKind::stage, 0, tile.steps);
    if (!fits || staged_operands(tried.kernel()) != 1) return false;
    plan = std::move(tried);
    return true;
}

/// Without scalar loads the few rows come through local memory. Each line of the matrix is read by few threads of many
/// groups. On an H100 8 rows of 4096 by 4096 take 0.037 ms so, for 0.075 without, 16 rows 0.051 for 0.195.
void stage_few_rows(ScheduleBuilder& plan, UOp columns, int64_t rows) {
    const auto [of_thread, beside, groups, unrolled, steps] = rows > 16  ? std::array{4, 8, 32, 2, 4}
                                                              : rows > 8 ? std::array{2, 16, 64, 2, 2}
                                                                         : std::array{2, 16, 64, 4, 2};
    plan.add(ActionKind::upcast, *plan.place(columns), of_thread);
    plan.add_largest(ActionKind::local, *plan.place(columns), {beside, 8, 4});
    plan.add_largest(ActionKind::group, 0, {groups, 16, 8});
    if (plan.axes(ActionKind::unroll).empty()) return;
    plan.add(ActionKind::unroll, 0, unrolled);
    if (!plan.axes(ActionKind::stage).empty()) plan.add(ActionKind::stage, 0, steps);
}

}  // namespace

int64_t product(std::span<const UOp> ranges) {
    int64_t n = 1;
    for (UOp r : ranges) n *= r.as<RangeArg>().size;
    return n;
}

bool is_convolution_like(const ScheduleBuilder& plan) {
    const std::vector<UOp> all = ranges(plan.kernel().sink);
    const UOp along = plan.axes(ActionKind::unroll)[0];
    const auto at = static_cast<size_t>(std::ranges::find(all, along) - all.begin());
    return std::ranges::any_of(walked_memory(plan.kernel()), [&](const Walked& walked) {
        OffsetOfRanges offset(walked.offset, all);
        std::vector<int64_t> values(all.size());
        const auto of = [&](int64_t step) { return values[at] = step, offset.at(values); };
        const int64_t last = range_arg(along).size - 1;
        return of(last) - of(0) != last * (of(1) - of(0));
    });
}

int longest_axis(const ScheduleBuilder& plan, ActionKind kind) {
    const std::vector<UOp> axes = plan.axes(kind);
    return static_cast<int>(std::ranges::max_element(axes, {}, [](UOp r) { return range_arg(r).size; }) - axes.begin());
}

std::vector<bool> loads_without(const ScheduleBuilder& plan, UOp axis) {
    std::vector<bool> out;
    for (const Walked& a : walked_memory(plan.kernel())) out.push_back(!a.is_store && step_of(a.offset, axis) == 0);
    return out;
}

std::vector<int> reused_axes(const ScheduleBuilder& plan) {
    std::vector<int> out;
    std::vector<UOp> axes = plan.axes(ActionKind::upcast);
    for (size_t i = 0; i < axes.size(); ++i) {
        const std::vector<bool> free = loads_without(plan, axes[i]);
        if (std::ranges::find(free, true) != free.end()) out.push_back(static_cast<int>(i));
    }
    return out;
}

void pad_product(ScheduleBuilder& plan, Rounding rounding) {
    std::vector<UOp> sides;
    for (int axis : reused_axes(plan)) sides.push_back(plan.axes(ActionKind::upcast)[static_cast<size_t>(axis)]);
    pad_product(plan, sides, rounding);
}

void add_tiles(ScheduleBuilder& plan, int steps, std::initializer_list<int64_t> amounts) {
    for (const int64_t amount : amounts) {
        ScheduleBuilder ahead = plan;
        if (!plan.add(ActionKind::stage, steps, amount)) continue;
        if (ahead.add(ActionKind::double_buffer, steps, amount) && ahead.cost() < plan.cost()) plan = std::move(ahead);
        return;
    }
}

int place_of(const ScheduleBuilder& plan, UOp steps) {
    const std::vector<UOp> axes = plan.axes(ActionKind::stage);
    const auto at = std::ranges::find(axes, range_arg(steps).id, [](UOp r) { return range_arg(r).id; });
    return static_cast<int>((at == axes.end() ? axes.size() - 1 : static_cast<size_t>(at - axes.begin())));
}

void stage_matrices(ScheduleBuilder& plan, UOp reduction) {
    order_blocks(plan);
    const int steps = place_of(plan, reduction);
    // Values that are read a step ahead are in registers meanwhile.
    if (plan.target().ahead != Ahead::scheduled)
        plan.add_largest(ActionKind::stage, steps, {2, 1});
    else if (isa::is_cdna(isa::info(plan.target().arch).family))
        add_tiles(plan, steps, {16, 8, 4, 2, 1});
    else  // where sums have no registers of their own it costs more than it hides
        plan.add_largest(ActionKind::stage, steps, {16, 8, 4, 2, 1});
}

bool tile_product(ScheduleBuilder& plan) {
    constexpr int64_t kFewest = 32, kFewestRows = 4, kFewestResults = 4096, kFewestOfParts = 512;
    constexpr double kOfWaves = 1.25;  // what they are thought to cost more than they do
    constexpr double kOfShared = 0.8;  // and what those that waves share are thought to cost less
    std::optional<Sides> sides = sides_of(plan);
    if (!sides || plan.axes(ActionKind::unroll).empty()) return false;
    const auto [few, many] = std::minmax({product(sides->rows), product(sides->columns)});
    const bool many_parts = few >= kFewest / 2 && product(plan.axes(ActionKind::upcast)) >= 4 * kFewestResults;
    if (many < kFewest || few < kFewestRows ||
        (few < kFewest && few * many < kFewestResults && !(many_parts && few * many >= kFewestOfParts)))
        return false;
    const UOp before = plan.kernel().sink;
    pad_product(plan, {sides->rows[0], sides->columns[0]}, Rounding());
    for (std::vector<UOp>* side : {&sides->rows, &sides->columns})
        for (UOp& r : *side) r = plan.axes(ActionKind::upcast)[static_cast<size_t>(*plan.place(r))];
    if (plan.kernel().sink == before && take_copied(plan, *sides)) return true;
    ScheduleBuilder waves = plan;
    const bool by_waves =
        take_by_waves(waves, kTileOfWaves, *plan.place(sides->rows[0]), *plan.place(sides->columns[0]));
    const ThreadTiles& tile = tile_for(plan, *sides);
    ScheduleBuilder shared = plan;
    take(plan, tile, *sides, false);
    take(shared, tile, *sides, true);
    if (shared.cost() < kOfShared * plan.cost()) plan = std::move(shared);
    if (by_waves && waves.cost() < kOfWaves * plan.cost()) plan = std::move(waves);
    return true;
}

bool take_few_rows(ScheduleBuilder& plan) {
    constexpr int64_t kFew = 32, kLong = 256, kAtOnce = 16, kOfThread = 4;
    const std::vector<int> reused = reused_axes(plan);
    if (reused.size() < 2 || plan.axes(ActionKind::group).size() != 1) return false;
    const auto size = [&](int axis) { return plan.size(ActionKind::upcast, axis); };
    const auto [few, many] = std::ranges::minmax(reused.back(), reused[reused.size() - 2], {}, size);
    if (size(few) >= kFew || size(many) < kLong || plan.size(ActionKind::group, 0) < kLong) return false;
    const UOp rows = plan.axes(ActionKind::upcast)[static_cast<size_t>(few)],
              columns = plan.axes(ActionKind::upcast)[static_cast<size_t>(many)];
    const auto place = [&](UOp range) { return *plan.place(range); };
    const bool along_columns = plan.walked_by_one(columns) > plan.walked_by_one(plan.axes(ActionKind::group)[0]);
    const int64_t at_once = along_columns ? kAtOnce : kOfThread, multiple = along_columns ? 8 : kOfThread;
    if (size(few) > 2 * kOfThread && size(few) > at_once && size(few) % multiple) plan.pad(rows, multiple);
    if (const int64_t line = along_columns ? 128 : 32; range_arg(columns).size % line) plan.pad(columns, line);
    if (const UOp steps = plan.axes(ActionKind::group)[0]; range_arg(steps).size % 128) plan.pad(steps, 128);
    if (along_columns)
        plan.add(ActionKind::upcast, few, size(few) > at_once ? size(few) / 2 : size(few));
    else
        plan.add_largest(ActionKind::upcast, few, {at_once, size(few)});
    if (const auto left = plan.place(rows)) plan.add(ActionKind::local, *left, size(*left));
    if (along_columns && !plan.target().arch.is_amd()) return stage_few_rows(plan, columns, range_arg(rows).size), true;
    // As many columns of a thread as leave half of the card's units a block.
    const int64_t beside = along_columns ? 32 : 4;
    const auto blocks = [&](int64_t of_thread) { return range_arg(columns).size / (beside * of_thread); };
    int64_t of_thread = along_columns ? 4 : 8;
    while (of_thread > 1 && 2 * blocks(of_thread) < rates_of(plan.target().arch).units) of_thread /= 2;
    if (!along_columns) plan.add_largest(ActionKind::unroll, 0, {4, 2});
    if (of_thread > 1) plan.add_largest(ActionKind::upcast, place(columns), {of_thread, of_thread / 2});
    plan.add_largest(ActionKind::local, place(columns), {beside, beside / 2});
    plan.add_largest(ActionKind::group, 0, {32, 16, 8});
    if (along_columns && !plan.axes(ActionKind::unroll).empty()) plan.add(ActionKind::unroll, 0, 2);
    return true;
}

}  // namespace strata::codegen
