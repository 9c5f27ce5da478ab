#include "strata/runtime/profiler.h"

#include <algorithm>

namespace strata::runtime {
namespace {

using SharedProfile = std::shared_ptr<const emu::LaunchProfile>;
constexpr size_t kCompared = 16;  // profiles of a kernel that a new one may be equal to

/// One object for equal profiles.
SharedProfile share(std::vector<SharedProfile>& known, const SharedProfile& profile) {
    const auto equal = [&](const SharedProfile& other) { return *other == *profile; };
    if (const auto found = std::ranges::find_if(known, equal); found != known.end()) return *found;
    if (known.size() == kCompared) known.erase(known.begin());
    return known.emplace_back(profile);
}

}  // namespace

void Profiler::add(const Stats::Launch& launch, const Program& program) {
    if (around_) around_->add(launch, program);
    const Device& device = program.device();
    std::lock_guard lock(mutex_);
    Known& known = known_[{program.code.object.get(), &device}];
    if (!known.kernel)
        known.kernel = std::make_shared<ProfiledKernel>(ProfiledKernel{
            device.name(), device.time_is_modelled(), program.code.object, program.code.text, program.code.assembly});
    ProfiledLaunch& added = all_.emplace_back(ProfiledLaunch{launch, known.kernel});
    if (SharedProfile& profile = added.launch.report.profile) profile = share(known.profiles, profile);
}

std::vector<ProfiledLaunch> Profiler::launches() const {
    std::lock_guard lock(mutex_);
    return all_;
}

}  // namespace strata::runtime
