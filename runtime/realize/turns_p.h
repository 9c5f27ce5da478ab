#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// The users' kernels that graphs need and that have not run, each taken by this thread until the object ends: a kernel that
/// changes memory runs once, whichever threads want its results. Taken in the order of their ids, so that no two threads wait
/// for each other.
class Turns {
  public:
    /// has_run: is the value of a node in memory?
    Turns(std::span<const UOp> roots, const std::function<bool(UOp node)>& has_run);

  private:
    std::vector<std::shared_ptr<Mutex>> mutexes_;
    std::vector<std::unique_ptr<StoppableLock>> locks_;  // released first
};

}  // namespace strata::runtime
