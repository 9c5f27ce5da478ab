// mma_reduce: rows or columns of an accumulator, of which lanes and elements have a part each.
#include "strata/codegen/tile/mma.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

/// A leaf of a layout of lanes or of elements: its size, the product of those before it, its step along each side.
struct Leaf {
    int64_t size, before, along[2];
};

std::vector<Leaf> leaves_of(const lo::Layout& layout, int64_t rows) {
    const lo::Layout flat = lo::flatten(layout);
    std::vector<Leaf> out;
    int64_t before = 1;
    for (size_t i = 0; i < flat.rank(); ++i) {
        const lo::Layout leaf = flat.shape().is_tuple() ? flat.mode(i) : flat;
        const int64_t size = leaf.shape().known(), stride = leaf.stride().known();
        out.push_back({size, before, {stride % rows, stride / rows}});
        before *= size;
    }
    return out;
}

}  // namespace

View TiledMma::reduce(const View& fragment, Op op, int axis) const {
    if (axis != 0 && axis != 1) user_error(ErrorKind::Usage, "reduce along axis {}: 0 the rows, 1 the columns", axis);
    const auto side = static_cast<size_t>(axis);
    const int64_t elements = atom_.shape.accumulator_elements();
    if (!fragment.is_in(Space::reg) || !fragment.shape().is_tuple() || fragment.shape().rank() != 3 ||
        !lo::product(fragment.shape().mode(0)).is(elements))
        user_error(ErrorKind::Shape, "reduce takes a fragment of an accumulator, and this is {}", to_string(fragment));
    if (const int64_t waves = waves_.mode(side).size().value(); waves > 1)
        user_error(
            ErrorKind::Usage,
            "reduce along axis {}: {} waves have a part each, and lanes of one wave alone exchange values: lay the "
            "waves along the other axis",
            axis, waves);
    if (atom_.shape.by_warpgroups && axis == 0)
        user_error(ErrorKind::Usage,
                   "reduce along axis 0 of {}: each wave of a warpgroup has rows of its own. Lanes of one wave alone "
                   "exchange values: reduce the columns, axis 1",
                   atom_.shape.mnemonic);
    const std::vector<Leaf> of_lanes = leaves_of(atom_.layout_C_tv.mode(0), atom_.m),
                            of_elements = leaves_of(atom_.layout_C_tv.mode(1), atom_.m);
    // The element with the same place along the axis that stays, whose other digits are 0.
    const auto first_like = [&](int64_t element) {
        int64_t first = 0;
        for (const Leaf& leaf : of_elements)
            if (!leaf.along[side]) first += element / leaf.before % leaf.size * leaf.before;
        return first;
    };
    const size_t gone = 1 + side, stays = 2 - side;
    const int64_t parts = lo::product(fragment.shape().mode(gone)).value(),
                  rests = lo::product(fragment.shape().mode(stays)).value();
    const auto place = [&](int64_t element, int64_t rest, int64_t part) {
        return axis == 1 ? lo::IntTuple{element, rest, part} : lo::IntTuple{element, part, rest};
    };
    std::vector<lo::IntTuple> shape(fragment.shape().modes().begin(), fragment.shape().modes().end());
    shape[gone] = 1;
    const View out = View::registers_of(shape, fragment.dtype());
    for (int64_t rest = 0; rest < rests; ++rest) {
        std::vector<UOp> totals(static_cast<size_t>(elements));
        for (int64_t e = 0; e < elements; ++e)
            for (int64_t part = 0; part < parts; ++part) {
                UOp& total = totals[static_cast<size_t>(first_like(e))];
                const UOp value = fragment.load(place(e, rest, part));
                total = total ? alu(op, {total, value}) : value;
            }
        for (UOp& total : totals)
            for (const Leaf& leaf : of_lanes)
                for (int64_t bit = 1; total && leaf.along[side] && bit < leaf.size; bit *= 2)
                    total = alu(op, {total, uop::shuffle_xor(total, static_cast<int>(bit * leaf.before))});
        for (int64_t e = 0; e < elements; ++e) out.store(place(e, rest, 0), totals[static_cast<size_t>(first_like(e))]);
    }
    return out;
}

}  // namespace strata::lang
