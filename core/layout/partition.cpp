#include "strata/core/layout/algebra.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

IntTuple every_mode(const Layout& L) {
    if (!L.shape().is_tuple()) return IntTuple::none();
    return std::vector<IntTuple>(L.rank(), IntTuple::none());
}

/// The coordinate with none for the modes that it leaves out.
IntTuple filled_up(const IntTuple& coordinate, const Layout& L) {
    if (coordinate.is_none()) return every_mode(L);
    if (!L.shape().is_tuple()) return unwrap(coordinate);
    if (!coordinate.is_tuple()) return coordinate;
    std::vector<IntTuple> modes(coordinate.modes().begin(), coordinate.modes().end());
    while (modes.size() < L.rank()) modes.push_back(IntTuple::none());
    return modes;
}

}  // namespace

Part local_tile(const Layout& L, const Tile& tile, const IntTuple& coordinate) {
    return operation(
        "local_tile",
        [&] {
            const Layout tiles = zipped_divide(L, tile);
            const IntTuple at = filled_up(coordinate, tiles.mode(1));
            return slice_and_offset(tiles, {every_mode(tiles.mode(0)), at});
        },
        L, tile, coordinate);
}

Part local_partition(const Layout& L, const Layout& threads, const Int& i) {
    return operation(
        "local_partition",
        [&] {
            const Layout tiles = zipped_divide(L, Tile(product_each(threads.shape())));
            const IntTuple at = filled_up(flat_coord(i, threads), tiles.mode(0));
            return slice_and_offset(tiles, {at, every_mode(tiles.mode(1))});
        },
        L, threads, IntTuple(i));
}

}  // namespace strata::layout
