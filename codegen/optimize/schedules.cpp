#include "strata/codegen/optimize/schedules_p.h"

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/support/parallel.h"
#include "strata/core/uop/root.h"

namespace strata::codegen {

const Result<Kernel>* Schedules::find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = made_.find(key);
    return found == made_.end() ? nullptr : &found->second;
}

const Result<Kernel>& Schedules::of(std::span<const Action> actions) {
    if (actions.empty()) return kernel_;
    std::string key = to_string(actions);
    if (const auto* const found = find(key)) return *found;
    const Result<Kernel>& before = of(actions.first(actions.size() - 1));
    const auto instead_of_last = [&](const Action& other) {
        std::vector<Action> others(actions.begin(), actions.end());
        others.back() = other;
        return of(others);
    };
    Result<Kernel> made = before ? apply(*before, actions.back(), target_, instead_of_last) : before;
    std::lock_guard lock(mutex_);
    return made_.emplace(std::move(key), std::move(made)).first->second;
}

std::vector<Scheduled> Schedules::those_of(std::vector<std::vector<Action>> all) {
    std::vector<const Result<Kernel>*> made(all.size());
    parallel_for(all.size(), [&](size_t i) {
        const GraphScope scope;
        made[i] = &of(all[i]);
    });
    std::vector<Scheduled> found;
    for (size_t i = 0; i < all.size(); ++i)
        if (*made[i]) found.push_back({**made[i], std::move(all[i])});
    return found;
}

}  // namespace strata::codegen
