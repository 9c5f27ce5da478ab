#pragma once
#include <memory>
#include <span>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// The users' kernels that graphs are to run, each taken by this thread until the object ends: it runs once, whichever
/// threads want its results. Taken in the order of their ids, so that no two threads wait for each other.
class Turns {
  public:
    explicit Turns(std::span<const UOp> calls);

  private:
    std::vector<std::shared_ptr<Mutex>> mutexes_;
    std::vector<std::unique_ptr<StoppableLock>> locks_;  // released first
};

}  // namespace strata::runtime
