#pragma once
#include <variant>

#include "strata/core/layout/layout.h"

namespace strata::layout {

/// XORs bits of an index into others: `bits` of them from base + shift on into those from base on. Where shift is
/// negative, bits from base on go into those from base - shift on.
class Swizzle {
  public:
    Swizzle(int bits, int base, int shift);
    int bits() const { return bits_; }
    int base() const { return base_; }
    int shift() const { return shift_; }
    Int operator()(const Int& index) const;
    bool operator==(const Swizzle&) const = default;

  private:
    int bits_, base_, shift_;
};

/// XORs `bits` bits of one mode of a coordinate, from base_row on, into another's from base_column on.
class CoordSwizzle {
  public:
    CoordSwizzle(int bits, int base_row, Path row, int base_column, Path column);
    int bits() const { return bits_; }
    int base_row() const { return base_row_; }
    const Path& row() const { return row_; }
    int base_column() const { return base_column_; }
    const Path& column() const { return column_; }
    IntTuple operator()(const IntTuple& coordinate) const;
    bool operator==(const CoordSwizzle&) const = default;

  private:
    int bits_, base_row_, base_column_;
    Path row_, column_;
};

/// c -> inner(offset + outer(c)), any number of times: each stage is an inner and its offset, the last one is applied
/// first. Functions of a layout are those of the layout at its end, which takes the coordinates.
class ComposedLayout {
  public:
    using Inner = std::variant<Layout, Swizzle, CoordSwizzle>;
    struct Stage {
        Inner inner;
        IntTuple offset;
        bool operator==(const Stage&) const = default;
    };
    ComposedLayout(std::vector<Stage> stages, Layout base);

    std::span<const Stage> stages() const { return stages_; }
    const Layout& base() const { return base_; }
    ComposedLayout with_base(Layout base) const { return {stages_, std::move(base)}; }
    std::variant<Layout, ComposedLayout> outer() const;  ///< what the first stage is applied to, without its offset
    IntTuple operator()(const IntTuple& coordinate) const;
    bool operator==(const ComposedLayout&) const = default;
    uint64_t hash() const;

  private:
    std::vector<Stage> stages_;
    Layout base_;
};

/// Any of them, as text writes them.
using AnyLayout = std::variant<Layout, Swizzle, CoordSwizzle, ComposedLayout>;

std::string to_string(const Swizzle& s);         ///< "S<3,4,3>"
std::string to_string(const CoordSwizzle& s);    ///< "C<3,0,E0,4,E1>"
std::string to_string(const ComposedLayout& L);  ///< "S<3,4,3> o 0 o (8,8):(8,1)"
std::string to_string(const AnyLayout& L);
/// The inverse of to_string. LayoutError names the column of what is wrong.
AnyLayout parse_layout(std::string_view text);
Layout layout_of(std::string_view text);  ///< which is neither a swizzle nor composed

/// `outer` is a layout or composed; an offset of 0 fits every coordinate.
ComposedLayout make_composed_layout(const AnyLayout& inner, const IntTuple& offset, const AnyLayout& outer);

/// 1 + the distance of the smallest and the largest index, which are all looked at: of 2^18 coordinates at most.
int64_t cosize(const ComposedLayout& L);

/// The layout over elements of new_bits that has the same bits as L over elements of old_bits.
Layout recast_layout(const Layout& L, int old_bits, int new_bits);
Swizzle recast_layout(const Swizzle& s, int old_bits, int new_bits);
ComposedLayout recast_layout(const ComposedLayout& L, int old_bits, int new_bits);

}  // namespace strata::layout
