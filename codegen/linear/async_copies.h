#pragma once
#include <span>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Which stores of a linear program are each an asynchronous copy from global to local memory, up to a barrier.
class AsyncCopies {
  public:
    AsyncCopies() = default;
    explicit AsyncCopies(std::span<const UOp> ops);

    /// Copies of one step of a loop, which are waited for together.
    int of_step() const { return of_step_; }
    /// Steps whose copies a barrier of the loop need not wait for: those started before the loop, less its next one. 0:
    /// the program has several loops that copy, and each waits for all. A loop that goes on where another ended
    /// (split_loops) copies to the same memories, and counts as that one.
    int steps_ahead() const { return steps_ahead_; }
    bool is_async(UOp store) const;

  private:
    UOpMap<bool> filled_;  ///< local memory that a loop copies to
    int of_step_ = 1, steps_ahead_ = 0;
};

}  // namespace strata::codegen
