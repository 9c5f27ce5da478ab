#pragma once
#include <optional>

#include "strata/core/layout/tuple.h"

namespace strata::layout {

/// A function from coordinates to indices: the sum of a coordinate's integers times the strides. A shape leaf is a
/// size from 1 on; strides are congruent with the shape, integers or basis elements.
class Layout {
  public:
    Layout() : Layout(1) {}
    explicit Layout(IntTuple shape);  ///< compact, the first mode fastest; a mode of size 1 has stride 0
    Layout(IntTuple shape, IntTuple stride);

    const IntTuple& shape() const { return shape_; }
    const IntTuple& stride() const { return stride_; }
    size_t rank() const { return shape_.rank(); }
    int depth() const { return shape_.depth(); }
    Int size() const { return product(shape_); }
    Layout mode(size_t i) const;
    Layout at(std::span<const int> path) const;
    std::vector<Layout> modes() const;
    /// The index of a coordinate: of an integer (colexicographic, the last mode without end), one integer a mode, or
    /// of the shape's tree. The index is a coordinate where strides are basis elements.
    IntTuple operator()(const IntTuple& coordinate) const;

    bool operator==(const Layout&) const = default;
    uint64_t hash() const;

  private:
    struct Checked {};
    Layout(Checked, IntTuple shape, IntTuple stride) : shape_(std::move(shape)), stride_(std::move(stride)) {}
    IntTuple shape_, stride_;
};

std::string to_string(const Layout& L);  ///< "(4,(2,4)):(8,(1,2))"

Layout make_layout(std::span<const Layout> modes);
inline Layout make_layout(std::initializer_list<Layout> modes) { return make_layout(std::span(modes)); }
/// Compact, modes of smaller order faster; of equal order the first one faster. `order` may be coarser than the shape.
Layout make_ordered_layout(const IntTuple& shape, const IntTuple& order);
/// Compact, of L's shape, its modes in the order of L's strides; a stride of 0 stays.
Layout make_layout_like(const Layout& L);
/// Compact, of L's shape: the first mode fastest, the others in the order of L's strides. A stride of 0 stays.
Layout make_fragment_layout(const Layout& L);
Layout make_identity_layout(const IntTuple& shape);  ///< the index of a coordinate is that coordinate

/// 1 + the distance of the smallest and the largest index, a shape where indices are coordinates; its size.
IntTuple coshape(const Layout& L);
Int cosize(const Layout& L);

// Coordinates.
IntTuple crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride);
/// The coordinate in the shape's tree of an integer, of one mode by mode; the last mode without end.
IntTuple idx2crd(const IntTuple& index, const IntTuple& shape);
IntTuple idx2crd(const Int& index, const Layout& L);  ///< the coordinate with that index; LayoutError where none has
IntTuple crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to);
IntTuple flat_coord(const Int& index, const Layout& L);  ///< of the coordinate with that index an integer a mode
Int linear_coord(const Int& index, const Layout& L);     ///< the same as one integer

bool is_injective(const Layout& L);
/// One step over sizes and strides in order of |stride|: coordinates of leaves with that index, if any.
std::optional<std::vector<int64_t>> solve_index(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                                int64_t index);

}  // namespace strata::layout
