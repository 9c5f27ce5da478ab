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
        for (size_t i = 0; i + 1 < values.size(); i += 2)
            next.push_back(make(op, values[i].dtype(), {values[i], values[i + 1]}));
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
    const Tiles counted = tiles_that_count(tiles);
    // Blocks with the most keys start first.
    block_ = !outer_ ? index_const(0) : counted.known_end ? index_const(blocks - 1) - outer_ : outer_;
    const auto of_block = [&](UOp number) {
        return simplify(outer_ ? substitute(number, {{outer_, block_}}) : number);
    };
    first_tile_ = of_block(counted.first), last_tile_ = of_block(counted.end - 1);
    const UOp count = simplify(last_tile_ + 1 - first_tile_);
    const UOp left = simplify(count - before);
    // A single step is no loop, and runs also where there are no keys.
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

/// Masks that leave out what follows the last key or comes before the first bound the tiles. Those that they cut come
/// last (split_loops), unless both ends are.
AttentionLoop::Tiles AttentionLoop::tiles_that_count(int64_t all) {
    Tiles out{index_const(0), index_const(all), false};
    const UOp masked = masked_scores(p_), none = identity(Op::max, dtypes::float32);
    if (!masked) return out;
    const UOp in_block = uop::range(t_.rows(), next_id_++, Axis::local),
              row = outer_ ? outer_ * t_.rows() + in_block : in_block;
    UOp scores = simplify(substitute(masked, {{p_.rows, row}})), end, from_last;
    while (scores.is(Op::where) && (scores.src(1) == none || scores.src(2) == none)) {
        const size_t kept = scores.src(1) == none ? 2 : 1;
        end = fewer_steps(end, steps_while(scores.src(0), kept == 1, p_.keys));
        from_last = fewer_steps(from_last, steps_while_from_the_last(scores.src(0), kept == 1, p_.keys));
        scores = scores.src(kept);
    }
    const auto within = [&](UOp tile, int64_t least, int64_t most) {
        if (!proves_at_least(tile, least)) tile = alu(Op::max, {tile, index_const(least)});
        if (!proves_less(tile, most + 1)) tile = alu(Op::min, {tile, index_const(most)});
        return simplify(tile);
    };
    if (from_last)
        out.first = within(simplify((index_const(range_arg(p_.keys).size) - from_last) / t_.keys), 0, all - 1);
    if (end) out.end = within(simplify((end + (t_.keys - 1)) / t_.keys), 1, all);
    if (end && from_last) out.end = alu(Op::max, {out.end, out.first + 1});
    out.known_end = bool(end);
    is_reversed_ = from_last && !end;
    return out;
}

/// The number of the tile of a step.
UOp AttentionLoop::tile() const { return is_reversed_ ? last_tile_ - tile_ : first_tile_ + tile_; }

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

/// True if scores are products, by a number or masked out: far numbers lose their difference when they are scaled
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
/// The number subtracted from exponents, as exp2 takes it.
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
