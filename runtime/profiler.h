#pragma once
#include <memory>
#include <string>
#include <vector>

#include "strata/runtime/program.h"
#include "strata/runtime/realize.h"

namespace strata::runtime {

/// A launch that a profiler was told of.
struct ProfiledLaunch {
    Stats::Launch launch;  ///< its report keeps the profile
    std::string device;
    bool modelled = false;
    std::shared_ptr<const isa::CodeObject> object;
    std::string text, assembly;  ///< of codegen::Compiled
};

/// Who is told of launches while settings().profiler is it. Thread-safe.
class Profiler {
  public:
    explicit Profiler(std::shared_ptr<Profiler> around = {}) : around_(std::move(around)) {}
    /// Told to those around it too.
    void add(ProfiledLaunch launch);
    std::vector<ProfiledLaunch> launches() const;

  private:
    const std::shared_ptr<Profiler> around_;
    mutable Mutex mutex_;
    std::vector<ProfiledLaunch> all_;
};

}  // namespace strata::runtime
