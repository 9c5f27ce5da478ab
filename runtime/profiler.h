#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "strata/providers/emulated.h"
#include "strata/runtime/program.h"
#include "strata/runtime/realize.h"

namespace strata::runtime {

/// Facts that all launches of a kernel have in common.
struct ProfiledKernel {
    std::string device;
    bool modelled = false;
    std::shared_ptr<const isa::CodeObject> object;
    std::string text, assembly;  ///< of executable::Code
};
/// A launch as a profiler sees it.
struct ProfiledLaunch {
    Stats::Launch launch;  ///< its report keeps the profile, which is the same object as that of an equal launch
    std::shared_ptr<const ProfiledKernel> kernel;
};

/// The listener to launches while settings().profiler is it. Thread-safe.
class Profiler {
  public:
    explicit Profiler(std::shared_ptr<Profiler> around = {}) : around_(std::move(around)) {}
    /// Reported to those around it too.
    void add(const Stats::Launch& launch, const Program& program);
    std::vector<ProfiledLaunch> launches() const;

  private:
    const std::shared_ptr<Profiler> around_;
    mutable Mutex mutex_;
    std::vector<ProfiledLaunch> all_;
    /// Facts of each code object on a device, kept once.
    struct Known {
        std::shared_ptr<const ProfiledKernel> kernel;
        std::vector<std::shared_ptr<const emu::LaunchProfile>> profiles = {};  ///< those that differ, the last ones
    };
    std::map<std::pair<const isa::CodeObject*, const Device*>, Known> known_;
};

}  // namespace strata::runtime
