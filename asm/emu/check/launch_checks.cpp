#include "strata/asm/emu/check/launch_checks.h"

namespace strata::emu {

void LaunchChecks::add(const lint::Findings& found) {
    std::lock_guard lock(mutex_);
    found_.add(found);
}

std::vector<lint::Finding> LaunchChecks::findings() const {
    std::lock_guard lock(mutex_);
    return found_.sorted();
}

}  // namespace strata::emu
