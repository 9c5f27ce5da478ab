#pragma once
#include <cstdint>
#include <string>

#include "strata/core/uop/root.h"

namespace strata::layout {

/// A leaf's number: 64 bits that are known, or a UOp whose value comes with the kernel. A UOp that is a constant is
/// known. Sums and products beyond 64 bits are LayoutErrors.
class Int {
  public:
    constexpr Int(int64_t value = 0) : value_(value) {}
    Int(const Int& other) : value_(other.value_) {
        if (!other.known()) uop_ = other.uop_;
    }
    Int(Int&& other) noexcept = default;
    Int& operator=(const Int& other) {
        value_ = other.value_;
        if (!known() || !other.known()) uop_ = other.uop_;
        return *this;
    }
    Int& operator=(Int&& other) noexcept = default;
    explicit Int(UOp value);  ///< an integer node; it becomes one of Scalar::index

    bool known() const { return !uop_.get(); }
    bool is(int64_t value) const { return known() && value_ == value; }
    int64_t value() const;  ///< of a known one; LayoutError names the node otherwise
    UOp uop() const;        ///< the node, a constant for a known one
    /// Known and equal, or the same node. Two nodes may have one value all the same.
    friend bool operator==(const Int& a, const Int& b) { return a.value_ == b.value_ && a.uop_.get() == b.uop_.get(); }
    uint64_t hash() const;

  private:
    int64_t value_ = 0;
    Root uop_;
};

Int operator+(const Int& a, const Int& b);
Int operator-(const Int& a, const Int& b);
Int operator*(const Int& a, const Int& b);
Int floor_div(const Int& a, const Int& b);  ///< downwards, as Python's //
Int floor_mod(const Int& a, const Int& b);  ///< with the divisor's sign, as Python's %
Int ceil_div(const Int& a, const Int& b);   ///< upwards
Int bit_and(const Int& a, int64_t mask);
Int bit_xor(const Int& a, const Int& b);
Int shift_right(const Int& a, int bits);  ///< to the left where bits is negative
/// Surely smaller: by value, or by what is known of the nodes' bounds.
bool surely_less(const Int& a, const Int& b);
bool surely_divides(int64_t divisor, const Int& a);
std::string to_string(const Int& a);

}  // namespace strata::layout
