#include <algorithm>

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

LaunchPlans::Known LaunchPlans::find(const std::string& structure, std::span<const uint64_t> numbers) {
    std::lock_guard lock(mutex_);
    Entry* entry = all_.find(structure);
    if (!entry) return {nullptr, std::vector<bool>(numbers.size())};
    if (entry->exact && std::ranges::equal(entry->first, numbers)) {
        ++found_;
        return {entry->exact, std::vector<bool>(numbers.size())};
    }
    for (size_t i = 0; i < numbers.size(); ++i)
        if (entry->first[i] != numbers[i]) entry->changing[i] = true;
    if (entry->general && entry->general_for == entry->changing) {
        ++found_;
        return {entry->general, entry->changing};
    }
    return {nullptr, entry->changing};
}

void LaunchPlans::add(const std::string& structure, std::span<const uint64_t> numbers,
                      const std::vector<bool>& changing, std::shared_ptr<const LaunchPlan> plan, bool from_disk) {
    std::vector<Entry> gone;  // freed outside the lock
    std::lock_guard lock(mutex_);
    ++(from_disk ? found_ : made_);
    Entry entry{
        .first = {numbers.begin(), numbers.end()}, .changing = changing, .exact = {}, .general = {}, .general_for = {}};
    if (const Entry* known = all_.find(structure)) entry = *known;
    if (std::ranges::find(changing, true) == changing.end())
        entry.exact = std::move(plan);
    else
        entry.general = std::move(plan), entry.general_for = changing;
    size_t bytes = 2 * structure.size() + 10 * numbers.size();
    for (const auto& held : {entry.exact, entry.general}) bytes += held ? held->bytes() : 0;
    gone = all_.put(structure, std::move(entry), bytes, settings().plans_mb << 20);
}

void LaunchPlans::count_into(Stats& stats) {
    std::lock_guard lock(mutex_);
    stats.plans = all_.size(), stats.plan_bytes = all_.bytes();
    stats.plans_found = found_, stats.plans_made = made_;
}

void LaunchPlans::reset_counts() {
    std::lock_guard lock(mutex_);
    found_ = made_ = 0;
}

}  // namespace strata::runtime
