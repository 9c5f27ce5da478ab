#pragma once
#include <memory>
#include <string>
#include <vector>

#include "strata/asm/emu/gpu.h"
#include "strata/core/support/mutex.h"

namespace strata::providers {

/// A finding of strict mode in a launch, with the code that it is about.
struct CheckFinding {
    lint::Finding finding;
    std::string kernel;
    std::shared_ptr<const emu::Module> module = {};  ///< none: about the launch, and no instruction of it

    const isa::Segment* code() const;  ///< that finding.pc counts in; nullptr without a module
    std::string text() const;          ///< for people, over several lines
    std::string line() const;          ///< the same in one
};
/// A JSON array, an object a finding.
std::string to_json(const std::vector<CheckFinding>& findings);

/// The findings of several launches, one for each kind and instruction of a kernel, with counts. Thread-safe.
class Report {
  public:
    void add(const std::vector<CheckFinding>& findings);
    std::vector<CheckFinding> findings() const;

  private:
    mutable Mutex mutex_;
    std::vector<CheckFinding> all_;
};

}  // namespace strata::providers
