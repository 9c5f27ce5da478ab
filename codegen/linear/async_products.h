#pragma once
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Warpgroup products in flight, followed through a linear program in order. One is in flight while its sums are stored
/// to register memory. It stays in flight until something reads those sums, in the next step of a loop too.
class AsyncProducts {
  public:
    struct Product {
        UOp value, sums;  ///< sums: the register memory that it is stored to; empty: not yet
    };
    explicit AsyncProducts(std::span<const UOp> ops);

    bool empty() const { return products_.empty(); }
    size_t size() const { return products_.size(); }
    void begin(UOp product) { products_.push_back({product, {}}); }
    /// Adds those that a step of the loop leaves to the next one, unless the loop before left the same to the first
    /// step.
    void begin_loop(UOp range);
    /// The one that the operation stores, or takes a part of for an operation that does; nullptr for others.
    Product* placed_by(UOp u);
    /// How many of the first end before an operation.
    size_t ending_before(UOp u) const;
    std::vector<Product> take(size_t count);

  private:
    std::vector<Product> products_;
    UOpMap<std::vector<Product>> carried_;  ///< by loop: those that a step leaves to the next one
};

}  // namespace strata::codegen
