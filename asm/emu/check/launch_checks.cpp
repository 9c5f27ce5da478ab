#include "strata/asm/emu/check/launch_checks.h"

namespace strata::emu {

Paths& LaunchChecks::paths_of_this_thread() {
    std::lock_guard lock(mutex_);
    return paths_.try_emplace(std::this_thread::get_id(), setup_.program, setup_.accesses.nothing_near()).first->second;
}

void LaunchChecks::add(const lint::Findings& found, const LanesWanted& wanted) {
    std::lock_guard lock(mutex_);
    found_.add(found);
    wanted_.with.insert(wanted.with.begin(), wanted.with.end());
    wanted_.without.add(wanted.without);
}

std::vector<lint::Finding> LaunchChecks::findings() const {
    std::lock_guard lock(mutex_);
    lint::Findings all = found_;
    for (const lint::Finding& finding : wanted_.without.sorted())
        if (!wanted_.with.contains(finding.pc)) all.add(finding);
    return all.sorted();
}

}  // namespace strata::emu
