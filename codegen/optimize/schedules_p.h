#pragma once
#include <map>
#include <mutex>
#include <string>

#include "strata/codegen/optimize/action.h"
#include "strata/core/support/mutex.h"

namespace strata::codegen {

/// Schedules of a kernel by their actions, each made once: those of a search are alike in what they begin with.
class Schedules {
  public:
    Schedules(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}
    /// As apply_all; valid as long as this.
    const Result<Kernel>& of(std::span<const Action> actions);
    /// Those of them that there are, in order; made on all cores.
    std::vector<Scheduled> those_of(std::vector<std::vector<Action>> all);

  private:
    const Result<Kernel>* find(const std::string& key);

    const Result<Kernel> kernel_;
    const Target& target_;
    Mutex mutex_;
    std::map<std::string, Result<Kernel>> made_;
};

}  // namespace strata::codegen
