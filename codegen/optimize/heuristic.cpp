// heuristic: a good schedule without a search, from the shape of the loops and the strides of the memory accesses.
#include <algorithm>
#include <bit>
#include <optional>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention_p.h"
#include "strata/codegen/optimize/matmul_p.h"
#include "strata/codegen/optimize/schedule_builder_p.h"
#include "strata/codegen/target/rates.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

/// Neighbouring threads take neighbouring columns, and those of the rows that follow where a row is narrow.
bool take_line(ScheduleBuilder& plan, int column, int64_t inner = 1) {
    const int64_t kLine = 32 / inner;  // columns of a line of memory
    const int64_t width = plan.size(ActionKind::local, column);
    if (width >= 2 * kLine || width % 16 == 0)
        return plan.add_largest(ActionKind::local, column, {kLine, 16 / inner, 8, 4});
    if (!plan.add(ActionKind::local, column, width)) return false;
    if (const auto next = plan.axis_of_step(ActionKind::local, width); next && 2 * width <= kLine)
        plan.add_largest(ActionKind::local, *next,
                         {static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kLine / width))), 2});
    return true;
}

/// Contiguous elements of a column, as where pixels of few channels are added up: a thread adds up all of them. How
/// many elements; one where columns are of single elements.
int64_t unroll_inside(ScheduleBuilder& plan) {
    constexpr int64_t kMost = 8, kFewestRows = 64, kMostColumns = 16384;
    const auto is_read_along = [&](UOp range) { return plan.walked_by_one(range, false) > 0; };
    const std::vector<UOp> rows = plan.axes(ActionKind::unroll), columns = plan.axes(ActionKind::local);
    const auto inside = std::ranges::find_if(rows, is_read_along);
    if (inside == rows.end() || std::ranges::any_of(columns, is_read_along) || product(columns) > kMostColumns)
        return 1;
    const int64_t width = range_arg(*inside).size;
    if (width > kMost || !std::has_single_bit(static_cast<uint64_t>(width)) || product(rows) / width < kFewestRows ||
        !plan.axis_of_step(ActionKind::local, width))
        return 1;
    return plan.add(ActionKind::unroll, static_cast<int>(inside - rows.begin()), width) ? width : 1;
}

/// True if most memory is walked along a range, rather than in another layout.
bool walks_mostly(const ScheduleBuilder& plan, UOp range) {
    int64_t all = 0;
    for (const Walked& a : walked_memory(plan.kernel())) all += a.size;
    return 4 * plan.walked_by_one(range) >= 3 * all;
}

constexpr int64_t kFewColumns = 1024;  // results up to which the threads of a block share one rather than a line

/// Reductions down the columns of memory, few results: neighbouring threads take neighbouring columns, and the rows are
/// shared by several of them.
bool share_columns(ScheduleBuilder& plan) {
    const int64_t inner = unroll_inside(plan);
    std::optional<int> column = inner > 1 ? plan.axis_of_step(ActionKind::local, inner)
                                          : plan.unit_stride_axis(ActionKind::local),
                       row = plan.unit_stride_axis(ActionKind::group);
    std::vector<UOp> columns = plan.axes(ActionKind::local), rows = plan.axes(ActionKind::group);
    if (!column || rows.empty() || product(columns) > 16384 || product(rows) < 64) return false;
    if (inner == 1 && row &&
        plan.walked_by_one(rows[static_cast<size_t>(*row)]) >=
            plan.walked_by_one(columns[static_cast<size_t>(*column)]))
        return false;
    if (!walks_mostly(plan, columns[static_cast<size_t>(*column)]) && product(columns) <= kFewColumns) return false;
    int last = static_cast<int>(rows.size()) - 1;
    constexpr int64_t kWide = 8192;  // columns from which on enough blocks are left when a thread takes several
    constexpr int64_t kLine = 32, kDwordBytes = 4;
    if (const int64_t width = plan.size(ActionKind::local, *column); width > kLine && width % kLine != 0)
        plan.pad(columns[static_cast<size_t>(*column)], width >= kWide ? 4 * kLine : kLine);
    constexpr int64_t kShared = 16;
    if (const int64_t length = plan.size(ActionKind::group, last); length > 2 * kShared && length % kShared != 0)
        plan.pad(rows.back(), length > 16 * kShared ? 4 * kShared : kShared);
    const int64_t of_dword = inner == 1 ? kDwordBytes / plan.narrowest_load() : 1;  // narrow columns side by side
    if (plan.size(ActionKind::local, *column) >= kWide)
        plan.add_largest(ActionKind::upcast, *column, {4, 2});
    else if (of_dword > 1 && product(columns) >= of_dword * kLine * rates_of(plan.target().arch).units)
        plan.add(ActionKind::upcast, *column, of_dword);
    if (!take_line(plan, *column, inner)) return false;
    plan.add_largest(ActionKind::group, last, {16 * inner, 16, 8, 4});
    if (!plan.axes(ActionKind::unroll).empty()) plan.add_largest(ActionKind::unroll, 0, {4, 2});
    return true;
}

/// True if what a reduction makes of the range is used along it: by another reduction, or an end that closes it too.
bool is_row(UOp sink, UOp range) {
    const auto along = [&](UOp u) { return closes(u, range); };
    return std::ranges::any_of(toposort(sink), [&](UOp u) {
        return along(u) && (u.is(Op::end) || std::ranges::any_of(toposort(u.src(0)), along));
    });
}

/// True if memory goes on from row to row rather than along one.
bool stand_in_columns(const ScheduleBuilder& plan, UOp row) {
    const std::optional<int> column = plan.unit_stride_axis(ActionKind::local);
    return column &&
           plan.walked_by_one(plan.axes(ActionKind::local)[static_cast<size_t>(*column)]) > plan.walked_by_one(row);
}

/// Such rows beside each other, as wide as memory is read well, and threads to each until one has few elements.
bool share_columns_of_rows(ScheduleBuilder& plan) {
    constexpr int64_t kMostThreads = 1024, kElements = 16, kWide = 32, kLong = 256, kFew = 8;
    const UOp column = plan.axes(ActionKind::local)[static_cast<size_t>(*plan.unit_stride_axis(ActionKind::local))];
    if (range_arg(column).size > 2 * kWide) plan.pad(column, kWide);
    const UOp row = plan.axes(ActionKind::group)[0];
    if (const int64_t length = range_arg(row).size; length > 2 * kFew) plan.pad(row, length > kLong ? kWide : kFew);
    if (!take_line(plan, *plan.unit_stride_axis(ActionKind::local))) return true;
    int64_t threads = 1, size = plan.size(ActionKind::group, 0);
    while (size % (2 * threads) == 0 && size / threads > kElements &&
           block_size(plan.kernel()) * 2 * threads <= kMostThreads)
        threads *= 2;
    if (threads > 1) plan.add(ActionKind::group, 0, threads);
    if (!plan.axes(ActionKind::unroll).empty()) {
        const int64_t left = plan.size(ActionKind::unroll, 0);
        if (!plan.fits_unrolled(left) || !plan.add(ActionKind::unroll, 0, left))
            plan.add_largest(ActionKind::unroll, 0, {8, 4, 2});
    }
    return true;
}

/// Scans down the columns of memory: neighbouring threads take neighbouring columns, several of them parts of one.
bool scan_columns(ScheduleBuilder& plan) {
    constexpr int64_t kBlocks = 64, kThreads = 512;  // of the grid, so that the machine is full; of a block
    const std::optional<int> column = plan.unit_stride_axis(ActionKind::local);
    const UOp row = plan.axes(ActionKind::group)[0], sink = plan.kernel().sink;
    if (!column || std::ranges::none_of(toposort(sink), [](UOp u) { return u.is(Op::scan); })) return false;
    const UOp columns = plan.axes(ActionKind::local)[static_cast<size_t>(*column)];
    if (plan.walked_by_one(row) >= plan.walked_by_one(columns)) return false;
    const int64_t count = range_arg(columns).size, size = range_arg(row).size;
    const int64_t results = product(plan.axes(ActionKind::local));
    int64_t wanted = 8;
    while (wanted < 32 && 2 * wanted <= count && results >= 2 * wanted * kBlocks) wanted *= 2;
    if (count > wanted && count % wanted != 0) plan.pad(columns, wanted);
    if (const int64_t steps = size > 128 ? 128 : 8; size > steps && size % steps != 0) plan.pad(row, steps);
    plan.add_largest(ActionKind::local, *column, {wanted, count <= wanted ? count : 2, 4, 2});
    plan.add_largest(ActionKind::unroll, 0, {8, 4, 2});
    if (!plan.axes(ActionKind::group).empty())
        plan.add_largest(ActionKind::group, 0, {kThreads / wanted, kThreads / wanted / 2, 16, 8, 4, 2});
    return true;
}

/// Rows that are reduced and walked again. Each has enough threads that a thread has few elements, all in its
/// registers. A block takes contiguous rows until it is full.
bool share_row(ScheduleBuilder& plan) {
    std::vector<UOp> rows = plan.axes(ActionKind::group);
    if (rows.size() != 1 || !is_row(plan.kernel().sink, rows[0])) return false;
    if (scan_columns(plan)) return true;
    if (stand_in_columns(plan, rows[0])) return share_columns_of_rows(plan);
    constexpr int64_t kFewest = 32, kMost = 256, kElements = 8;  // threads of a row, elements of a thread
    constexpr int64_t kLong = 64 * kMost;  // elements beside which wide accesses of all threads are worth the padding
    constexpr int64_t kOfNarrow = 8;  // threads of a row below 64 elements and from 13 on, which fewer do not read well
    int64_t size = range_arg(rows[0]).size;
    const bool narrow = size > 12 && size < 2 * kFewest;
    if (narrow && size % kOfNarrow != 0 && plan.pad(rows[0], kOfNarrow)) size = plan.size(ActionKind::group, 0);
    const int64_t multiple = size >= kLong ? 4 * kMost : kFewest;
    if (!narrow && size > kFewest && size % multiple != 0 &&
        plan.pad(rows[0], size > kMost ? std::max(multiple, kMost) : kFewest))
        size = plan.size(ActionKind::group, 0);
    int64_t threads = 1;
    if (narrow && plan.add(ActionKind::group, 0, kOfNarrow)) {
        threads = kOfNarrow;
    } else if (size >= kFewest && size % kFewest == 0) {
        threads = kFewest;
        while (threads < kMost && size % (2 * threads) == 0 && size / threads > kElements) threads *= 2;
        for (int64_t wide : {4, 2})
            if (plan.unit_stride_axis(ActionKind::unroll) && size % (threads * wide) == 0 &&
                plan.add(ActionKind::unroll, 0, wide))
                break;
        plan.add(ActionKind::group, 0, threads);
    }
    if (!plan.axes(ActionKind::unroll).empty()) {
        const int64_t left = plan.size(ActionKind::unroll, 0);
        if (!plan.fits_unrolled(left) || !plan.add(ActionKind::unroll, 0, left))
            plan.add_largest(ActionKind::unroll, 0, {4, 2});
    }
    if (const std::vector<UOp> beside = plan.axes(ActionKind::local); !beside.empty() && threads < kMost / 2)
        if (const int64_t wanted = kMost / threads; range_arg(beside.back()).size > 2 * wanted)
            if (range_arg(beside.back()).size % wanted != 0) plan.pad(beside.back(), wanted);
    for (size_t n = plan.axes(ActionKind::local).size(); n > 0 && threads < kMost / 2; --n)
        for (int64_t rows_of_block = kMost / threads; rows_of_block > 1; rows_of_block /= 2)
            if (plan.add(ActionKind::local, static_cast<int>(n) - 1, rows_of_block)) {
                threads *= rows_of_block;
                break;
            }
    return true;
}

/// Rows along memory whose threads have many steps: each wave has a run of it, so that its loads are near each other.
bool share_runs(ScheduleBuilder& plan, int axis) {
    constexpr int64_t kThreads = 256, kSteps = 8;
    const int64_t lanes = plan.target().wave_size, size = plan.size(ActionKind::group, axis);
    if (!plan.target().arch.is_amd() || size % kThreads != 0 || size < kThreads * kSteps) return false;
    return plan.add(ActionKind::group_runs, axis, kThreads / lanes) && plan.add(ActionKind::group, axis, lanes);
}

/// Many short rows along memory: the lanes of a wave share each, by wide loads, and a block has several rows. NVIDIA's
/// cards start about one block a clock, which bounds a block for each row. On an H200 sums of 262144 rows of 128
/// floats take 0.047 ms so, for 0.170.
bool take_short_rows(ScheduleBuilder& plan, int axis) {
    constexpr int64_t kMost = 1024, kLanes = 32, kOfThread = 4, kThreads = 256;  // elements of a row; threads
    const int64_t size = plan.size(ActionKind::group, axis), lanes = std::min(size / kOfThread, kLanes);
    const std::vector<UOp> outputs = plan.axes(ActionKind::local);
    if (plan.target().arch.is_amd() || size > kMost || outputs.empty()) return false;
    if (!std::has_single_bit(static_cast<uint64_t>(size)) || size < kOfThread * kOfThread) return false;
    const int64_t rows = kThreads / lanes, units = rates_of(plan.target().arch).units;
    if (product(outputs) < rows * units || range_arg(outputs.back()).size % rows) return false;
    ScheduleBuilder tried = plan;
    if (!tried.add(ActionKind::unroll, axis, kOfThread) || !tried.add(ActionKind::group, axis, lanes) ||
        !tried.add(ActionKind::local, static_cast<int>(outputs.size()) - 1, rows))
        return false;
    plan = std::move(tried);
    return true;
}

/// Few results, long reductions: the threads of a block share one reduction.
bool share_reduction(ScheduleBuilder& plan) {
    std::vector<UOp> reductions = plan.axes(ActionKind::group);
    if (reductions.empty()) return false;
    constexpr int64_t kFewest = 32;
    constexpr int64_t kManyWindows = 16384;  // results from which on neighbours read nearly the same
    const auto size_of = [](UOp r) { return range_arg(r).size; };
    int axis = plan.unit_stride_axis(ActionKind::group).value_or(static_cast<int>(reductions.size()) - 1);
    if (plan.size(ActionKind::group, axis) < kFewest)
        axis = static_cast<int>(std::ranges::max_element(reductions, {}, size_of) - reductions.begin());
    int64_t size = plan.size(ActionKind::group, axis);
    // Masks hide how memory is walked, as where a last piece is shorter: then long reductions are thought to go along
    // it.
    const bool unknown = size >= 1024 && !plan.unit_stride_axis(ActionKind::local);
    const bool few = product(plan.axes(ActionKind::local)) <= (unknown ? 16384 : kFewColumns),
               rows = plan.unit_stride_axis(ActionKind::unroll).has_value();
    const bool windows = product(plan.axes(ActionKind::local)) > kManyWindows && is_convolution_like(plan);
    if (rows && !windows && take_short_rows(plan, axis)) return true;
    if (size < kFewest || !(few || (rows && size >= 128 && !windows))) return false;
    const int64_t multiple = size >= 1024 ? 256 : 32;
    if (size % 32 != 0 && plan.pad(reductions[static_cast<size_t>(axis)], multiple))
        size = plan.size(ActionKind::group, axis);
    if (rows && size >= 1024 && plan.add(ActionKind::unroll, axis, 4) && share_runs(plan, axis)) return true;
    if (axis < static_cast<int>(plan.axes(ActionKind::group).size()))
        plan.add_largest(ActionKind::group, axis, {256, 128, 64, 32, 16, 8});
    return true;
}

/// The same where a side is narrow: a thread has all of it, and neighbouring threads what follows it in memory.
bool tile_narrow(ScheduleBuilder& plan, UOp read, UOp written) {
    constexpr int64_t kWhole = 32, kMostOfThread = 64, kLine = 128, kSide = 16, kFewest = 32;
    std::vector<UOp> whole, threads;
    int64_t of_thread = 1;
    const auto give = [&](UOp range) {
        if (std::ranges::find(threads, range) == threads.end()) threads.push_back(range);
    };
    for (UOp side : {read, written}) {
        const int64_t size = range_arg(side).size;
        if (size > kWhole || of_thread * size > kMostOfThread) {
            give(side);
            continue;
        }
        whole.push_back(side), of_thread *= size;
        if (const auto next = plan.axis_of_step(ActionKind::local, size))
            give(plan.axes(ActionKind::local)[static_cast<size_t>(*next)]);
    }
    std::erase_if(threads, [&](UOp range) { return std::ranges::find(whole, range) != whole.end(); });
    if (whole.empty() || product(threads) < kFewest) return false;
    const int64_t wanted = threads.size() == 1 ? kLine : kSide;
    for (UOp range : threads)
        if (const int64_t size = range_arg(range).size; size > wanted && size % wanted) plan.pad(range, wanted);
    for (UOp range : whole) plan.add(ActionKind::upcast, *plan.place(range), range_arg(range).size);
    for (UOp range : threads)
        if (const auto axis = plan.place(range); block_size(plan.kernel()) <= kLine)
            if (!plan.add(ActionKind::local, *axis, std::min(wanted, plan.size(ActionKind::local, *axis))))
                plan.add_largest(ActionKind::local, *axis, {16, 8, 4, 2});
    return true;
}

/// Ranges along which memory is walked, each by accesses of its own: those of the most, if both are of much.
struct WalkedRanges {
    UOp one, other;
    explicit operator bool() const { return static_cast<bool>(other); }
};
WalkedRanges most_walked(const ScheduleBuilder& plan, ActionKind kind) {
    constexpr int64_t kOfLess = 8;  // of all that is walked: what is less costs little in any order
    int64_t most = 0, second = 0, all = 0;
    WalkedRanges sides;
    for (UOp range : plan.axes(kind)) {
        const int64_t walked = plan.walked_by_one(range);
        all += walked;
        if (walked > most) {
            second = most, sides.other = sides.one;
            most = walked, sides.one = range;
        } else if (walked > second) {
            second = walked, sides.other = range;
        }
    }
    return second * kOfLess >= all && second > 0 ? sides : WalkedRanges{};
}

/// Memory that is walked along two output ranges, as where a layout is changed. Square tiles of threads and of each
/// thread's elements make all accesses go along memory.
bool tile_transpose(ScheduleBuilder& plan) {
    if (!plan.axes(ActionKind::unroll).empty()) return false;
    const WalkedRanges sides = most_walked(plan, ActionKind::upcast);
    if (!sides) return false;
    constexpr int64_t kSide = 64, kNarrow = 16, kPart = 8;
    const std::vector<UOp> axes = plan.axes(ActionKind::upcast);
    const int64_t narrower = std::min(range_arg(sides.one).size, range_arg(sides.other).size);
    if (narrower < kSide && tile_narrow(plan, sides.one, sides.other)) return true;
    if (narrower < kNarrow) return false;
    const int64_t tiles = product(axes) / (kSide * kSide), units = rates_of(plan.target().arch).units;
    for (UOp range : {sides.one, sides.other}) {
        const int64_t multiple = range_arg(range).size < kSide ? kPart : kSide;
        if (range_arg(range).size % multiple != 0) plan.pad(range, multiple);
        if (tiles >= units / 4) plan.add_largest(ActionKind::upcast, *plan.place(range), {tiles >= units ? 4 : 2, 2});
    }
    for (UOp range : {sides.one, sides.other})
        if (const auto axis = plan.place(range)) plan.add_largest(ActionKind::local, *axis, {16, 8, 4});
    return true;
}

/// The same of sums: a line of threads along what is walked most, some lines along the other, two to each sum.
bool tile_transposed_sums(ScheduleBuilder& plan) {
    constexpr int64_t kLine = 32, kLines = 8, kShared = 2, kFewest = 8;
    if (plan.axes(ActionKind::unroll).empty()) return false;
    const WalkedRanges sides = most_walked(plan, ActionKind::local);
    if (!sides || range_arg(sides.one).size < kLine || range_arg(sides.other).size < kLine) return false;
    for (const auto& [range, threads] : {std::pair(sides.one, kLine), std::pair(sides.other, kLines)}) {
        if (range_arg(range).size % threads != 0) plan.pad(range, threads);
        plan.add_largest(ActionKind::local, *plan.place(range), {threads, threads / 2, threads / 4});
    }
    const int last = static_cast<int>(plan.axes(ActionKind::group).size()) - 1;
    if (last >= 0 && plan.size(ActionKind::group, last) >= kFewest) plan.add(ActionKind::group, last, kShared);
    if (!plan.axes(ActionKind::unroll).empty()) plan.add_largest(ActionKind::unroll, 0, {8, 7, 6, 5, 4, 3, 2});
    return true;
}

/// Everything else: wide accesses along memory, then blocks of threads along it.
void spread_output(ScheduleBuilder& plan) {
    std::optional<int> along = plan.unit_stride_axis(ActionKind::upcast);
    int64_t results = product(plan.axes(ActionKind::local));
    if (!plan.axes(ActionKind::local).empty()) {
        int last = along.value_or(static_cast<int>(plan.axes(ActionKind::local).size()) - 1);
        UOp range = plan.axes(ActionKind::local)[static_cast<size_t>(last)];
        int64_t size = range.as<RangeArg>().size;
        if (size > 64 && size % 32 != 0) plan.pad(range, size >= 4096 ? 1024 : size >= 512 ? 256 : 32);
    }
    // A result of many steps is spread over the whole card.
    const int64_t units = rates_of(plan.target().arch).units;
    const int64_t many = plan.axes(ActionKind::unroll).empty() ? 4096 : 2048 * units;
    // NVIDIA's cards start about one block a clock, and a load brings up to 16 bytes: few wide blocks.
    constexpr int64_t kWidest = 16, kWideBlock = 256, kElements = 8, kBlocks = 4;
    const bool wide = !plan.target().arch.is_amd() && plan.axes(ActionKind::unroll).empty() &&
                      results >= kBlocks * units * kWideBlock * kElements;
    const int64_t enough = wide ? kWideBlock : 64;  // threads of a block
    if (along && results >= many) {
        const int64_t most = wide ? std::min(kWidest / plan.narrowest_load(), kElements) : 4;
        plan.add_largest(ActionKind::upcast, *along, {most, 4, 2});
    }
    int64_t threads = 1;
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(plan.axes(ActionKind::local).size()); ++i) order.push_back(i);
    std::reverse(order.begin(), order.end());
    if (along && *along < static_cast<int>(order.size())) {
        order.erase(std::find(order.begin(), order.end(), *along));
        order.insert(order.begin(), *along);
    }
    std::sort(order.begin() + (order.empty() ? 0 : 1), order.end(), std::greater<>());
    for (size_t i = 0; i < order.size() && threads < enough; ++i) {
        size_t before = plan.axes(ActionKind::local).size();
        int64_t most = 256 / threads;
        // A narrow run of memory that powers of two do not divide is taken whole.
        if (const int64_t run = plan.size(ActionKind::local, order[i]);
            i == 0 && along && run < 64 && run % 8 != 0 && plan.add(ActionKind::local, order[i], run))
            threads *= run;
        else
            for (int64_t n : {256, 128, 64, 32, 16, 8, 4, 2})
                if (n <= most && plan.add(ActionKind::local, order[i], n)) {
                    threads *= n;
                    break;
                }
        if (plan.axes(ActionKind::local).size() < before)  // the axis is used up: those after it have moved down
            for (int& axis : order) axis -= axis > order[i];
    }
    if (plan.axes(ActionKind::unroll).empty()) return;
    for (int64_t steps : {4, 2})
        if (plan.fits_unrolled(steps) && plan.add(ActionKind::unroll, 0, steps)) return;
}

}  // namespace

Scheduled heuristic(const Kernel& kernel, const Target& target) {
    if (const UOp finish = finish_of(kernel.sink)) {
        Scheduled first = heuristic(without_finish(kernel), target);
        first.kernel = with_finish(std::move(first.kernel), finish);
        return first;
    }
    if (std::optional<Scheduled> attention = attention_schedule(kernel, target)) return *std::move(attention);
    ScheduleBuilder plan(kernel, target);
    if (!share_row(plan) && !tile_matrices(plan) && !take_few_rows(plan) && !tile_product(plan) &&
        !tile_transposed_sums(plan) && !share_columns(plan) && !share_reduction(plan) && !tile_transpose(plan))
        spread_output(plan);
    return plan.take();
}

}  // namespace strata::codegen
