#pragma once
#include <functional>
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// While one lives, its thread computes values or reads them. A thread that is alone may write over memory that nothing
/// else reaches.
class Computing {
  public:
    Computing();
    ~Computing();
    Computing(const Computing&) = delete;
    /// True if no other thread computes; then none does until this ends.
    bool stay_alone();

  private:
    bool outermost_, alone_ = false;
};

/// Lets results take memory that only the graphs of values reach which are replaced by them.
struct Donation {
    /// A node for each Root that goes once the value of this root is in memory; empty: what it is made of stays.
    std::function<std::vector<UOp>(size_t root)> releases;
    /// Takes the view of a root, in memory that was another value's, where a later step of the graphs fails.
    std::function<void(size_t root, Root view)> keep;
};

/// As realize.h has it.
std::vector<Root> realize(std::span<const UOp> roots, Device* fallback, const Donation& donation);

}  // namespace strata::runtime
