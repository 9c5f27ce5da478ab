#pragma once
#include <variant>

#include "strata/core/layout/layout.h"

namespace strata::layout {

/// The right operand of divide, product or composition mode by mode. It is a layout for the whole, an integer n for the
/// layout n:1, none for a mode that passes, or a tuple of such.
class Tile {
  public:
    Tile(Layout layout) : value_(std::move(layout)) {}
    Tile(const IntTuple& sizes);  ///< integers and none
    Tile(std::vector<Tile> modes) : value_(std::move(modes)) {}

    static Tile none() { return Tile(); }

    bool is_none() const { return value_.index() == 0; }
    bool is_tuple() const { return value_.index() == 2; }
    const Layout& layout() const { return std::get<Layout>(value_); }
    bool operator==(const Tile&) const = default;
    std::span<const Tile> modes() const { return std::get<std::vector<Tile>>(value_); }

  private:
    Tile() = default;
    std::variant<std::monostate, Layout, std::vector<Tile>> value_;
};

std::string to_string(const Tile& tile);  ///< "[8:1,(2,4):(1,8),*]"

}  // namespace strata::layout
