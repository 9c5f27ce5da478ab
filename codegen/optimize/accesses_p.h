#pragma once
#include <cstdint>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// A set of a kernel's ranges, a bit each.
using RangeBits = uint64_t;

/// How a kernel's nodes stand in its ranges.
class Nest {
  public:
    explicit Nest(UOp sink);

    const std::vector<UOp>& order() const { return order_; }
    const std::vector<UOp>& ranges() const { return ranges_; }  ///< by ids; a range's place is its bit
    /// The ranges that a node is computed for: those that no end, reduction or contraction between has closed.
    RangeBits open(UOp u) const { return open_.at(u); }
    RangeBits with_axes(std::initializer_list<Axis> axes) const;
    double steps(RangeBits set) const;  ///< of all its ranges together

  private:
    std::vector<UOp> order_, ranges_;
    UOpMap<RangeBits> open_;
};

/// A load or store.
struct Access {
    UOp node, memory;  ///< the param
    bool store;
    bool written;                ///< the kernel stores to its memory
    int bytes;                   ///< of an element
    RangeBits open;              ///< ranges that it is done for
    std::vector<int64_t> by;     ///< how many elements it moves with each range
    std::vector<int64_t> lanes;  ///< where the lanes of the first wave are, in elements
};

/// Whether scalar registers have it: all lanes of a wave read one element of memory that is only read.
bool is_scalar(const Access& access, const Target& target);

/// All of a kernel, with its threads as lanes.
std::vector<Access> accesses_of(const Nest& nest, int wave_size);

}  // namespace strata::codegen
