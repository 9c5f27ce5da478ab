#pragma once
#include <map>
#include <string>

#include "strata/codegen/optimize/action.h"

namespace strata::codegen {

/// Schedules of a kernel by their actions, each made once: those of a search are alike in what they begin with.
class Schedules {
  public:
    Schedules(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}
    /// As apply_all; valid as long as this.
    const Result<Kernel>& of(std::span<const Action> actions);
    const Target& target() const { return target_; }

  private:
    const Result<Kernel> kernel_;
    const Target& target_;
    std::map<std::string, Result<Kernel>> made_;
};

}  // namespace strata::codegen
