#include "strata/core/layout/tile.h"

#include "strata/core/layout/layout_error.h"

namespace strata::layout {

Tile::Tile(const IntTuple& sizes) {
    if (sizes.is_none()) return;
    if (!sizes.is_tuple()) {
        value_ = Layout(sizes);
        return;
    }
    std::vector<Tile> modes;
    for (const IntTuple& mode : sizes.modes()) modes.push_back(Tile(mode));
    value_ = std::move(modes);
}

std::string to_string(const Tile& tile) {
    if (tile.is_none()) return "*";
    if (!tile.is_tuple()) {
        const Layout& layout = tile.layout();
        return layout == Layout(layout.shape()) && !layout.shape().is_tuple() ? to_string(layout.shape())
                                                                              : to_string(layout);
    }
    std::string out = "[";
    for (size_t i = 0; i < tile.modes().size(); ++i) out += (i ? "," : "") + to_string(tile.modes()[i]);
    return out + "]";
}

}  // namespace strata::layout
