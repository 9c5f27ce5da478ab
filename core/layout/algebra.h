#pragma once
#include "strata/core/layout/modes.h"
#include "strata/core/layout/tile.h"

namespace strata::layout {

// The algebra of layouts. Each function gives a layout with exactly the stated values, or a LayoutError.

/// The same indices for coordinates 0 .. size-1, with as few modes as there can be.
Layout coalesce(const Layout& L);
/// The same within each leaf of `profile`; modes beyond it and those where it has none stay.
Layout coalesce(const Layout& L, const IntTuple& profile);

/// R(c) = A(B(c)) for every coordinate c of B; R's modes are B's, some of them divided. A's last mode has no end.
Layout composition(const Layout& A, const Layout& B);
/// By mode; modes beyond the tile's and those where it has none stay.
Layout composition(const Layout& A, const Tile& B);

/// The layout that with L fills 0 .. codomain-1 or beyond: rising strides, no index but 0 in common with L.
Layout complement(const Layout& L, const Int& codomain);
inline Layout complement(const Layout& L) { return complement(L, cosize(L)); }
/// L(R(i)) = i for every i, as many as there are from 0 on without a gap.
Layout right_inverse(const Layout& L);
/// R(L(c)) = c for every coordinate c of L, which is injective.
Layout left_inverse(const Layout& L);

/// A layout's tiles: mode 0 goes through one tile, mode 1 from tile to tile.
Layout logical_divide(const Layout& L, const Tile& tile);
Layout zipped_divide(const Layout& L, const Tile& tile);  ///< ((tile, ...), (rest, ...))
Layout tiled_divide(const Layout& L, const Tile& tile);   ///< ((tile, ...), rest, ...)
Layout flat_divide(const Layout& L, const Tile& tile);    ///< (tile, ..., rest, ...)
/// A block and its copies: mode 0 is the block, mode 1 goes from copy to copy as the tile's indices say.
Layout logical_product(const Layout& block, const Tile& tile);
Layout zipped_product(const Layout& block, const Tile& tile);
Layout tiled_product(const Layout& block, const Tile& tile);
Layout flat_product(const Layout& block, const Tile& tile);
/// By mode: elements of a block side by side, and elements of copies side by side.
Layout blocked_product(const Layout& block, const Layout& tile);
Layout raked_product(const Layout& block, const Layout& tile);

/// Copies of a block that fill a shape, by mode; mode of smaller order first.
Layout tile_to_shape(const Layout& block, const IntTuple& shape, const IntTuple& order);
Layout tile_to_shape(const Layout& block, const IntTuple& shape);

struct TiledThreads {
    IntTuple tiler;  ///< elements of a tile along each mode
    Layout tv;       ///< (thread, value) -> coordinate within the tile
};
/// Threads and the values of each, side by side in a tile.
TiledThreads make_layout_tv(const Layout& threads, const Layout& values);

/// The tile at a coordinate; where that has none, all tiles of the mode.
Part local_tile(const Layout& L, const Tile& tile, const IntTuple& coordinate);
/// The part of L that thread i of a layout of threads has.
Part local_partition(const Layout& L, const Layout& threads, const Int& i);

}  // namespace strata::layout
