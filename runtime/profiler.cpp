#include "strata/runtime/profiler.h"

namespace strata::runtime {

void Profiler::add(ProfiledLaunch launch) {
    if (around_) around_->add(launch);
    std::lock_guard lock(mutex_);
    all_.push_back(std::move(launch));
}

std::vector<ProfiledLaunch> Profiler::launches() const {
    std::lock_guard lock(mutex_);
    return all_;
}

}  // namespace strata::runtime
