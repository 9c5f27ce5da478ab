#include "strata/asm/emu/check/launch_checks.h"

namespace strata::emu {

Paths& LaunchChecks::paths_of_this_thread() {
    std::lock_guard lock(mutex_);
    return paths_.try_emplace(std::this_thread::get_id(), setup_.program).first->second;
}

void LaunchChecks::add(const lint::Findings& found) {
    std::lock_guard lock(mutex_);
    found_.add(found);
}

std::vector<lint::Finding> LaunchChecks::findings() const {
    std::lock_guard lock(mutex_);
    return found_.sorted();
}

}  // namespace strata::emu
