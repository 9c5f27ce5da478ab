// Two-stage reductions: partial results of parts of a row, and their reduction.
#include "strata/codegen/schedule/two_stage_p.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr int64_t kSplitFrom = 1 << 15;  // elements a result below which one block does it well
// Columns that are few: blocks, of which each has a line of them, would leave most of the machine idle.
constexpr int64_t kFewColumns = 1 << 8, kSplitColumnsFrom = 1 << 13, kManyElements = 1 << 19;
// Columns that no block holds, and how much of one it does.
constexpr int64_t kLongColumn = 1 << 13, kHeldOfColumn = 1 << 9;
// Columns of a block and its threads where each block has a line of them (share_columns). Also the part of a card's
// blocks that read at its full rate, and the time that a second stage must save.
constexpr int64_t kLineOfColumns = 32, kThreadsOfColumns = 512, kBytesOfPartial = 4;
constexpr double kFullFrom = 0.5, kWorthIt = 0.5;
constexpr int64_t kMostOfColumns = 1 << 14;  // columns, with their pieces, that have blocks of such lines
constexpr int64_t kThreads = 256;            // of a block,
constexpr int64_t kRounds =
    3;  // of such blocks on a whole card, from which on one that is not full is little of the time
constexpr int64_t kLeastShared = 1 << 10, kMostShared = 1 << 15;  // elements of a partial result that a block shares
constexpr int64_t kUnderWay = 6;      // wide loads that a thread has under way, where each has a partial result
constexpr int64_t kLeastSerial = 16;  // elements a partial result, at least

/// The divisor of n nearest to, and not above, `wish` that is a multiple of `step`; 0 when there is none.
int64_t divisor_near(int64_t n, int64_t wish, int64_t step) {
    for (int64_t m = wish / step * step; m >= step; m -= step)
        if (n % m == 0) return m;
    return 0;
}

/// The size of a side of the pieces: the wish, or a divisor near to it.
int64_t near(int64_t n, int64_t wish, int64_t step) {
    const int64_t divisor = divisor_near(n, wish, step);
    return divisor < wish / 4 ? wish : divisor;
}

/// Elements of a partial result that a block shares: a power of two where that divides them. Else they are whole steps
/// of all its threads, wide loads each, and twice as many blocks, since some of them have less to do.
int64_t shared_by_block(int64_t n, int64_t results, int64_t most, const CostModel& costs) {
    const int64_t each = n * results / costs.resident_groups(kThreads);
    const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(each)));
    const int64_t even = std::clamp(power, kLeastShared, most);
    if (n % even == 0) return even;
    return std::clamp(each / 2 / kLeastShared * kLeastShared, kLeastShared, most / 2);
}

/// The kept axes, then the reduced ones.
std::vector<int> kept_first(UOp x, const std::vector<int>& axes) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(x.shape().size()); ++i)
        if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    order.insert(order.end(), axes.begin(), axes.end());
    return order;
}

UOp expanded(UOp x, const Shape& shape) {
    return x.shape() == shape ? x : make(Op::expand, x.dtype(), {x}, ShapeArg{shape});
}

bool are_columns(UOp reduction) {
    const std::vector<int> order = kept_first(reduction.src(0), reduction.as<ReduceArg>().axes);
    return !std::is_sorted(order.begin(), order.end()) && reduction.numel() > 1;
}

/// Bytes that a reduction reads, where the widening of its elements is part of it.
double bytes_read(UOp reduction) {
    UOp x = reduction.src(0);
    while (is_widening(x)) x = x.src(0);
    return static_cast<double>(x.numel() * x.dtype().bytes());
}

int64_t blocks_of_columns(int64_t results) { return (results + kLineOfColumns - 1) / kLineOfColumns; }

/// The axes of the pieces, before their length is chosen.
TwoStage undivided(UOp reduction) {
    TwoStage p;
    p.results = reduction.numel(), p.elements = reduction.src(0).numel() / p.results;
    p.order = kept_first(reduction.src(0), reduction.as<ReduceArg>().axes);
    p.across = !std::is_sorted(p.order.begin(), p.order.end());
    return p;
}

UOp places(int64_t n) { return make(Op::iota, dtypes::int64, {}, ShapeArg{{n}}); }

}  // namespace

UOp reshaped(UOp x, Shape shape) {
    return x.shape() == shape ? x : make(Op::reshape, x.dtype(), {x}, ShapeArg{std::move(shape)});
}

bool is_two_stage(UOp reduction, const CostModel& costs) {
    const int64_t results = reduction.numel(), elements = reduction.src(0).numel();
    if (results == 0 || results > kRounds * costs.resident_groups(kThreads)) return false;
    if (elements / results >= kSplitFrom) return true;
    return are_columns(reduction) && results <= kFewColumns && elements / results >= kSplitColumnsFrom &&
           elements >= kManyElements;
}

bool is_two_stage_where_read_twice(UOp reduction, const CostModel& costs) {
    const int64_t results = reduction.numel();
    return is_two_stage(reduction, costs) ||
           (results > 0 && are_columns(reduction) && reduction.src(0).numel() / results > kLongColumn);
}

bool leaves_card_idle(UOp reduction, const CostModel& costs) {
    const int64_t results = reduction.numel();
    if (results <= kFewColumns || 2 * results > kMostOfColumns || !are_columns(reduction)) return false;
    const double wanted = kFullFrom * static_cast<double>(costs.resident_groups(kThreadsOfColumns));
    const double read = costs.memory(bytes_read(reduction)), partials = kBytesOfPartial * kLineOfColumns * wanted;
    const double idle = std::max(1.0, wanted / static_cast<double>(blocks_of_columns(results)));
    return read + costs.stored(partials) < kWorthIt * read * idle;
}

TwoStage stages_of_columns(UOp reduction, const CostModel& costs) {
    TwoStage p = undivided(reduction);
    const int64_t wish =
        std::min(costs.resident_groups(kThreadsOfColumns) / blocks_of_columns(p.results), kMostOfColumns / p.results);
    p.count = near(p.elements, std::clamp<int64_t>(wish, 2, p.elements / kLeastSerial), 1);
    p.length = (p.elements + p.count - 1) / p.count;
    return p;
}

TwoStage two_stage_of(UOp reduction, const CostModel& costs) { return two_stage_of(reduction, kMostShared, costs); }

TwoStage two_stage_of(UOp reduction, int64_t most, const CostModel& costs) {
    TwoStage p = undivided(reduction);
    const int64_t n = p.elements;
    if (p.across) {
        const int64_t partials = costs.resident_groups(kThreads) * kThreads / kUnderWay;
        const int64_t wish = std::max<int64_t>(256, partials / p.results);
        p.count = near(
            n, is_two_stage(reduction, costs) ? std::min(wish, n / kLeastSerial / 256 * 256) : n / kHeldOfColumn, 1);
        p.length = (n + p.count - 1) / p.count;
    } else {
        p.length = near(n, shared_by_block(n, p.results, most, costs), kLeastShared);
        p.count = (n + p.length - 1) / p.length;
    }
    return p;
}

UOp TwoStage::of(UOp x, UOp filler) const {
    if (across) x = make(Op::permute, x.dtype(), {x}, AxesArg{order});
    x = reshaped(x, {results, elements});
    if (are_whole()) return reshaped(x, shape());
    x = make(Op::pad, x.dtype(), {x}, BoundsArg{{{0, 0}, {0, count * length - elements}}});
    x = reshaped(x, shape());
    const bool are_zeros = filler.is_const(0);
    return are_zeros ? x : alu(Op::where, {are_real(), x, filler});
}

UOp TwoStage::are_real() const {
    if (are_whole()) return UOp();
    Shape one = shape();
    one[0] = 1;
    return expanded(reshaped(places(count * length), one), shape()) < elements;
}

UOp TwoStage::lengths(DType type) const {
    if (are_whole()) return constant_int(type, length);
    Shape one = shape_of_pieces();
    one[0] = 1;
    const UOp place = expanded(reshaped(places(count), one), shape_of_pieces());
    const int64_t full = across ? count - (count * length - elements) : count - 1;
    const int64_t less = across ? length - 1 : elements - full * length;
    return alu(Op::where, {place < full, constant_int(type, length), constant_int(type, less)});
}

UOp TwoStage::reduced(UOp x, Op op, int axis) const { return make(Op::reduce, x.dtype(), {x}, ReduceArg{op, {axis}}); }

Shape TwoStage::shape_of_pieces() const {
    Shape one = shape();
    one[static_cast<size_t>(inner())] = 1;
    return one;
}

UOp TwoStage::along(UOp of_pieces) const { return expanded(of_pieces, shape()); }

UOp TwoStage::to_pieces(UOp of_results) const {
    return expanded(reshaped(of_results, {results, 1, 1}), shape_of_pieces());
}

}  // namespace strata::codegen
