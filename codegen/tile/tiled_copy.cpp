// tiled_copy: threads and their values cover a tile; each thread has its part of a view of whole tiles.
#include "strata/codegen/tile/copy.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

lo::Int elements_of_tile(const lo::Tile& tile) {
    if (tile.is_none()) lo::refuse("a tile has a size in each of its modes, and this is {}", lo::to_string(tile));
    if (!tile.is_tuple()) return tile.layout().size();
    lo::Int size = 1;
    for (const lo::Tile& mode : tile.modes()) size = size * elements_of_tile(mode);
    return size;
}

/// The layout without modes that repeat an index.
lo::Layout without_repeats(const lo::Layout& layout) {
    const lo::IntTuple shape = lo::flatten(layout.shape()), stride = lo::flatten(layout.stride());
    std::vector<lo::IntTuple> sizes, steps;
    for (size_t i = 0; i < shape.modes().size(); ++i) {
        if (stride.modes()[i].is(0)) continue;
        sizes.push_back(shape.modes()[i]);
        steps.push_back(stride.modes()[i]);
    }
    return lo::Layout(sizes, steps);
}

}  // namespace

TiledCopy::TiledCopy(CopyAtom atom, lo::Layout tv, lo::Tile tiler, bool repeats)
    : atom_(std::move(atom)), tv_(std::move(tv)), tiler_(std::move(tiler)) {
    lo::operation(
        "make_tiled_copy",
        [&] {
            if (!tv_.shape().is_tuple() || tv_.rank() != 2) lo::refuse("it has the modes threads and values");
            const lo::Layout once = repeats ? lo::make_layout({without_repeats(tv_.mode(0)), tv_.mode(1)}) : tv_;
            const int64_t size = elements_of_tile(tiler_).value(), covered = once.size().value();
            if (covered != size)
                lo::refuse("{} threads with {} values have {} elements, and the tile {}", tv_.mode(0).size().value(),
                           tv_.mode(1).size().value(), covered, size);
            if (!lo::is_injective(once) || !lo::cosize(once).is(size))
                lo::refuse("threads and values do not cover the {} elements of the tile, each once", size);
            if (tv_.mode(1).size().value() % atom_.lanes())
                lo::at_mode(1, [&] {
                    lo::refuse("a thread has {} values, and an access of {} bits takes {}", tv_.mode(1).size().value(),
                               atom_.bits, atom_.lanes());
                });
        },
        tv_, tiler_);
}

TiledCopy TiledCopy::of_threads(CopyAtom atom, const lo::Layout& threads, const lo::Layout& values) {
    auto [tiler, tv] = lo::make_layout_tv(threads, values);
    return {std::move(atom), std::move(tv), lo::Tile(tiler)};
}

TiledCopy TiledCopy::of_operand(CopyAtom atom, const TiledMma& mma, TiledMma::Operand which) {
    const auto tile = mma.tile_mnk();
    const int64_t first = tile[which == TiledMma::Operand::b ? 1 : 0],
                  second = tile[which == TiledMma::Operand::c ? 1 : 2];
    TiledCopy out(std::move(atom), mma.layout_tv(which), lo::Tile(lo::IntTuple{first, second}), true);
    const lo::Layout values = out.tv_.mode(1);
    for (size_t i = 1; i < 3; ++i) out.repeats_of_mma_.push_back(values.mode(i).size().value());
    return out;
}

lo::Layout TiledCopy::by_accesses(const lo::Layout& values) const {
    return lo::logical_divide(values, lo::Layout(atom_.lanes()));
}

View TiledCopy::partition(const View& view, const lo::Int& thread) const {
    return view.part([&](const lo::Layout& layout) {
        return lo::operation(
            "partition",
            [&] {
                const size_t modes = tiler_.is_tuple() ? tiler_.modes().size() : 1;
                for (size_t i = 0; i < modes; ++i) {
                    const lo::Int size = elements_of_tile(tiler_.is_tuple() ? tiler_.modes()[i] : tiler_);
                    if (!lo::surely_divides(size.value(), layout.mode(i).size()))
                        lo::at_mode(i, [&] {
                            lo::refuse("{} elements are no multiple of the tile's {}",
                                       lo::to_string(layout.mode(i).size()), size.value());
                        });
                }
                const lo::Layout tiles = lo::zipped_divide(layout, tiler_);
                const lo::Layout pairs = lo::composition(tiles.mode(0), tv_);
                std::vector<lo::Layout> mine{by_accesses(pairs.mode(1))};
                for (const lo::Layout& rest : tiles.mode(1).modes()) mine.push_back(rest);
                const std::vector<lo::IntTuple> all(mine.size(), lo::IntTuple::none());
                return lo::slice_and_offset(lo::make_layout({pairs.mode(0), lo::make_layout(mine)}),
                                            {thread, lo::IntTuple(all)});
            },
            layout, tiler_);
    });
}

View TiledCopy::retile(const View& fragment) const {
    return fragment.with_base([&](const lo::Layout& layout) {
        return lo::operation(
            "retile",
            [&] {
                if (layout.rank() < 3 || repeats_of_mma_.empty())
                    lo::refuse(
                        "it takes a fragment (elements, rest, rest) of the products that make_tiled_copy_A, _B or _C "
                        "was "
                        "given");
                std::vector<lo::Layout> values{layout.mode(0)}, rests;
                for (size_t i = 1; i < layout.rank(); ++i) {
                    if (i > 2) {
                        rests.push_back(layout.mode(i));
                        continue;
                    }
                    const lo::Layout parts = lo::logical_divide(layout.mode(i), lo::Layout(repeats_of_mma_[i - 1]));
                    values.push_back(parts.mode(0));
                    rests.push_back(parts.mode(1));
                }
                std::vector<lo::Layout> mine{by_accesses(lo::make_layout(values))};
                mine.insert(mine.end(), rests.begin(), rests.end());
                return lo::make_layout(mine);
            },
            layout);
    });
}

}  // namespace strata::lang
