#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "strata/core/uop/numbers.h"
#include "strata/core/uop/uop.h"

namespace strata {

/// A set of a kernel's ranges, one bit each.
using RangeSet = uint64_t;
inline constexpr size_t kMaxRanges = 64;

/// Which ranges each node of a kernel depends on. The kernel has at most kMaxRanges of them.
class Scopes {
  public:
    explicit Scopes(UOp sink) : Scopes(toposort(sink)) {}
    explicit Scopes(std::vector<UOp> order);  ///< all nodes, sources before users

    const std::vector<UOp>& order() const { return order_; }
    const std::vector<UOp>& ranges() const { return ranges_; }  ///< by ids; a range's place is its bit
    /// Ranges a node depends on and that nothing between has closed. A range depends on itself and on what its steps
    /// do.
    RangeSet free(UOp u) const { return free_.at(numbers_.find(u)); }
    RangeSet bit(UOp range) const;
    /// The ranges that an end, reduction or contraction closes.
    RangeSet closed_by(UOp u) const;
    RangeSet with_axis(std::initializer_list<Axis> axes) const;
    std::vector<UOp> list(RangeSet set) const;  ///< in order of ids
    double steps(RangeSet set) const;           ///< of all its ranges together

  private:
    std::vector<UOp> order_, ranges_;
    NodeNumbers numbers_;               ///< in order_
    std::vector<RangeSet> free_, bit_;  ///< by number
};

/// Nodes in loops that the order closes, sources before users: in the body of a loop, those that run more than once a
/// step.
UOpMap<bool> inside_of_loops(std::span<const UOp> order);

}  // namespace strata
