// The loop of attention over tiles of keys (matrix.cpp), whichever instructions make its products.
#include <algorithm>
#include <limits>

#include "strata/codegen/kernel/masked_steps.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/attention/tiles_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

int64_t parts_of(int64_t size, int64_t part) { return (size + part - 1) / part; }

}  // namespace

UOp combined(Op op, std::vector<UOp> values) {
    while (values.size() > 1) {
        std::vector<UOp> next;
        for (size_t i = 0; i + 1 < values.size(); i += 2) next.push_back(alu(op, {values[i], values[i + 1]}));
        if (values.size() % 2) next.push_back(values.back());
        values = std::move(next);
    }
    return values[0];
}

AttentionLoop::AttentionLoop(UOp sink, const AttentionParts& parts, const AttentionTile& tile, LaneGrid grid,
                             int64_t before)
    : p_(parts), t_(tile), grid_(grid), sink_(sink), next_id_(next_range_id(sink)) {
    columns_ = p_.columns();
    const int64_t blocks = parts_of(range_arg(p_.rows).size, t_.rows());
    if (blocks > 1) outer_ = uop::range(blocks, range_arg(p_.rows).id, Axis::global);
    if (t_.waves > 1) wave_ = new_range(t_.waves, Axis::local);
    row_of_lanes_ = new_range(grid.rows, Axis::lane), lane_ = new_range(grid.lanes, Axis::lane);
    const int64_t tiles = parts_of(range_arg(p_.keys).size, t_.keys);
    const UOp steps = tiles_that_count(tiles);
    // Blocks with the most keys start first.
    block_ = !outer_ ? index_const(0) : steps && !is_reversed_ ? index_const(blocks - 1) - outer_ : outer_;
    UOp count = !steps ? index_const(tiles) : outer_ ? simplify(substitute(steps, {{outer_, block_}})) : steps;
    last_tile_ = simplify(count - 1);
    const UOp left = simplify(count - before);
    // What has one step at most is no loop, and is done also where it has none.
    const int64_t most = left.is_const()            ? const_int(left)
                         : tiles == before          ? 0
                         : proves_at_least(left, 1) ? tiles - before
                                                    : std::max<int64_t>(tiles - before, 2);
    if (most > 0) tile_ = uop::range(most, next_id_++, Axis::reduce, left.is_const() ? UOp() : left);
}

UOp AttentionLoop::run() {
    const UOp end = walk();
    const std::vector<UOp> stores = finish(end);
    std::vector<UOp> open{row_of_lanes_, lane_};
    for (UOp r : {outer_, wave_})
        if (r) open.push_back(r);
    for (UOp r : sink_.src(0).src().subspan(1))
        if (r != p_.rows && r != p_.column) open.push_back(r);
    return sink_.with_src(std::array{uop::end(uop::group(stores), open)});
}

UOp AttentionLoop::new_range(int64_t size, Axis axis) { return uop::range(size, next_id_++, axis); }
UOp AttentionLoop::memory(int64_t size, DType type, Space space) {
    return uop::placeholder(size, type, space, next_slot_++);
}

/// Steps of the keys before masks leave none; empty for all. `keys`: the key of a step.
UOp AttentionLoop::steps_that_count(UOp masked, UOp row, UOp keys) const {
    UOp scores = simplify(substitute(masked, {{p_.rows, row}, {p_.keys, keys}})), steps;
    const UOp none = identity(Op::max, dtypes::float32);
    while (scores.is(Op::where) && !steps) {
        const size_t out = scores.src(1) == none ? 1 : 2;
        if (scores.src(out) != none) break;
        steps = steps_while(scores.src(0), out == 2, p_.keys);
        scores = scores.src(3 - out);
    }
    return steps;
}

/// Tiles before a mask leaves none, or from the last one on where it takes out the first; empty for all.
UOp AttentionLoop::tiles_that_count(int64_t all) {
    const UOp row = uop::range(t_.rows(), next_id_++, Axis::local);
    const UOp masked = masked_scores(p_), at = outer_ ? outer_ * t_.rows() + row : row;
    if (!masked) return {};
    UOp steps = steps_that_count(masked, at, p_.keys);
    if (steps) {
        steps = (steps + (t_.keys - 1)) / t_.keys;
    } else if (p_.is_chain()) {
        const int64_t size = range_arg(p_.keys).size;
        steps = steps_that_count(masked, at, index_const(size - 1) - p_.keys);
        is_reversed_ = bool(steps);
        if (steps) steps = index_const(all) - (index_const(size) - steps) / t_.keys;
    }
    if (!steps) return {};
    steps = simplify(steps);
    if (!proves_at_least(steps, 1)) steps = alu(Op::max, {steps, index_const(1)});
    if (!proves_less(steps, all + 1)) steps = alu(Op::min, {steps, index_const(all)});
    return simplify(steps);
}

/// The number of the tile of a step.
UOp AttentionLoop::tile() const {
    const int64_t tiles = parts_of(range_arg(p_.keys).size, t_.keys);
    return is_reversed_ ? index_const(tiles - 1) - tile_ : tile_;
}

UOp AttentionLoop::thread() const {
    const UOp in_wave = row_of_lanes_ * grid_.lanes + lane_;
    return wave_ ? wave_ * (grid_.rows * grid_.lanes) + in_wave : in_wave;
}
AttentionLoop::Register AttentionLoop::new_register(int64_t size, double first) {
    Register r{memory(size, dtypes::float32, Space::reg), {}};
    std::vector<UOp> stores;
    for (int64_t i = 0; i < size; ++i) stores.push_back(uop::store(uop::at(r.memory, i), first));
    r.started = uop::group(stores);
    return r;
}
UOp AttentionLoop::in_loop(const Register& r, int64_t i) const {
    return uop::at(uop::after(r.memory, std::array{r.started, tile_}), r.first + i);
}
void AttentionLoop::update(const Register& r, int64_t i, UOp value) {
    updates_.push_back(uop::store(in_loop(r, i), value));
}

/// Whether scores are products, by a number or masked out: far numbers lose their difference when they are scaled
/// first.
bool AttentionLoop::are_near() const {
    const UOp none = number(-std::numeric_limits<double>::infinity());
    UOp u = p_.of_scores;
    while (u != p_.scores)
        if (u.is(Op::mul) && u.src(1).is_const())
            u = u.src(0);
        else if (u.is(Op::where) && (u.src(1) == none || u.src(2) == none))
            u = u.src(u.src(1) == none ? 2 : 1);
        else
            return false;
    return true;
}

UOp AttentionLoop::exp2_of(UOp x, UOp less) const {
    if (!are_near()) return make(Op::exp2_approx, dtypes::float32, {(x - less) * number(p_.to_exp2)});
    return make(Op::exp2_approx, dtypes::float32, {alu(Op::fma, {x, number(p_.to_exp2), less})});
}
/// What exponents are less, as exp2 takes it.
UOp AttentionLoop::shift(UOp top) const {
    const bool finite = p_.shift != p_.top;
    const UOp none = number(-std::numeric_limits<double>::infinity());
    const UOp by = finite ? alu(Op::where, {alu(Op::abs, {top}) < p_.shift.src(0).src(1), top, p_.shift.src(2)})
                          : alu(Op::where, {alu(Op::cmpeq, {top, none}), number(0), top});
    return are_near() ? by * number(-p_.to_exp2) : by;
}

UOp AttentionLoop::total_of(UOp total, UOp top) const {
    if (p_.shift != p_.top) return total;
    const UOp none = number(-std::numeric_limits<double>::infinity());
    return alu(Op::where, {alu(Op::cmpeq, {top, none}), number(std::numeric_limits<double>::quiet_NaN()), total});
}

}  // namespace strata::codegen
