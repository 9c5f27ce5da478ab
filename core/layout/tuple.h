#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/core/layout/integer.h"

namespace strata::layout {

/// Modes from the outside in: {1, 0} is mode 0 of mode 1.
using Path = std::vector<int>;

inline constexpr int kMostDepth = 64;  ///< of tuples in tuples

/// A tree of modes. A leaf is an integer, a basis element (an integer times the unit of one mode of a coordinate) or
/// none. None keeps a mode in a coordinate and passes one in a tile. Shapes, strides, coordinates and tiles are such.
class IntTuple {
  public:
    enum class Kind : uint8_t { integer, basis, none, tuple };

    IntTuple(int64_t value = 0) : value_(value) {}
    IntTuple(int value) : value_(value) {}
    IntTuple(Int value) : value_(std::move(value)) {}
    explicit IntTuple(UOp value) : value_(value) {}
    IntTuple(std::vector<IntTuple> modes);
    IntTuple(std::initializer_list<IntTuple> modes) : IntTuple(std::vector<IntTuple>(modes)) {}
    static IntTuple none();
    static IntTuple basis(Int value, Path path);  ///< the integer itself where the path is empty

    Kind kind() const { return kind_; }
    bool is_tuple() const { return kind_ == Kind::tuple; }
    bool is_none() const { return kind_ == Kind::none; }
    bool is_integer() const { return kind_ == Kind::integer; }
    bool is_basis() const { return kind_ == Kind::basis; }
    bool is(int64_t value) const { return kind_ == Kind::integer && value_.is(value); }

    const Int& integer() const;                  ///< of an integer leaf; LayoutError otherwise
    const Int& value() const { return value_; }  ///< of an integer or basis element
    const Path& path() const;                    ///< of a basis element, else empty
    int64_t known() const { return integer().value(); }

    /// The modes of a tuple; a leaf is its only one.
    std::span<const IntTuple> modes() const { return is_tuple() ? std::span(*modes_) : std::span(this, 1); }
    size_t rank() const { return modes().size(); }
    int depth() const { return depth_; }  ///< 0 of a leaf, 1 of a flat tuple
    const IntTuple& mode(size_t i) const;
    const IntTuple& at(std::span<const int> path) const;

    friend bool operator==(const IntTuple& a, const IntTuple& b);
    uint64_t hash() const;

  private:
    Kind kind_ = Kind::integer;
    uint8_t depth_ = 0;
    Int value_;
    std::shared_ptr<const std::vector<IntTuple>> modes_;  // of tuples; copies share them
    std::shared_ptr<const Path> path_;                    // of basis elements
};

std::string to_string(const IntTuple& t);
inline std::string to_string(int64_t value) { return std::to_string(value); }

/// f of every leaf, the tree as it is.
template <class F>
IntTuple map_leaves(const IntTuple& t, F&& f) {
    if (!t.is_tuple()) return f(t);
    std::vector<IntTuple> modes;
    modes.reserve(t.rank());
    for (const IntTuple& mode : t.modes()) modes.push_back(map_leaves(mode, f));
    return modes;
}

template <class F>
void for_each_leaf(const IntTuple& t, F&& f) {
    if (!t.is_tuple()) return f(t);
    for (const IntTuple& mode : t.modes()) for_each_leaf(mode, f);
}

IntTuple flatten(const IntTuple& t);                   ///< the leaves as one tuple; a leaf is itself
IntTuple unwrap(IntTuple t);                           ///< the only mode of a tuple of one
bool congruent(const IntTuple& a, const IntTuple& b);  ///< one tree
/// b's tree is a's with leaves of a grown into trees.
bool weakly_congruent(const IntTuple& a, const IntTuple& b);

IntTuple operator+(const IntTuple& a, const IntTuple& b);  ///< of congruent tuples; an integer meets every leaf
IntTuple operator-(const IntTuple& a, const IntTuple& b);
IntTuple operator*(const IntTuple& a, const IntTuple& b);
IntTuple tuple_div(const IntTuple& a, const IntTuple& b);  ///< downwards
IntTuple tuple_mod(const IntTuple& a, const IntTuple& b);
IntTuple ceil_div(const IntTuple& a, const IntTuple& b);  ///< by mode; a's modes beyond b's stay
/// The rest of a shape after b of its elements in colexicographic order; each divides the other or it is an error.
IntTuple shape_div(const IntTuple& a, const IntTuple& b);

Int product(const IntTuple& t);
IntTuple product_each(const IntTuple& t);                          ///< an integer a mode
IntTuple product_like(const IntTuple& t, const IntTuple& guide);   ///< an integer a leaf of guide
IntTuple prefix_product(const IntTuple& t, const Int& first = 1);  ///< of the leaves before, from `first` on
IntTuple inner_product(const IntTuple& a, const IntTuple& b);      ///< the sum of products of leaves
bool elem_less(const IntTuple& a, const IntTuple& b);              ///< every leaf of a is smaller than b's

/// A sum in which basis elements become coordinates: 2E0 + 3E1 is (2, 3).
IntTuple coordinate_sum(const IntTuple& a, const IntTuple& b);
/// The tuple with `value` times the unit of a path: {1}, 3 -> (0, 3).
IntTuple as_coordinate(const IntTuple& basis);

}  // namespace strata::layout
