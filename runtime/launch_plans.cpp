#include <algorithm>

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

bool LaunchPlans::Made::serves(std::span<const uint64_t> asked) const {
    if (!plan || numbers.size() != asked.size()) return false;
    for (size_t i = 0; i < asked.size(); ++i)
        if (!parameters[i] && numbers[i] != asked[i]) return false;
    return true;
}

LaunchPlans::Known LaunchPlans::find(const std::string& signature, std::span<const uint64_t> numbers) {
    std::lock_guard lock(mutex_);
    Entry* entry = all_.find(signature);
    if (!entry) return {nullptr, std::vector<bool>(numbers.size())};
    for (size_t i = 0; i < numbers.size(); ++i)
        if (entry->first[i] != numbers[i]) entry->changing[i] = true;
    for (const Made* made : {&entry->exact, &entry->general}) {
        if (!made->serves(numbers)) continue;
        ++found_;
        return {made->plan, made->parameters};
    }
    return {nullptr, std::ranges::equal(entry->first, numbers) ? std::vector<bool>(numbers.size()) : entry->changing};
}

void LaunchPlans::add(const std::string& signature, std::span<const uint64_t> numbers,
                      const std::vector<bool>& parameters, std::shared_ptr<const LaunchPlan> plan, bool from_disk) {
    std::vector<Entry> gone;  // freed outside the lock
    std::lock_guard lock(mutex_);
    ++(from_disk ? found_ : made_);
    Entry entry{.first = {numbers.begin(), numbers.end()}, .changing = parameters, .exact = {}, .general = {}};
    if (const Entry* known = all_.find(signature)) entry = *known;
    const bool has_parameters = std::ranges::find(parameters, true) != parameters.end();
    (has_parameters ? entry.general : entry.exact) =
        Made{std::move(plan), {numbers.begin(), numbers.end()}, parameters};
    size_t bytes = 2 * signature.size() + 10 * numbers.size();
    for (const Made* made : {&entry.exact, &entry.general})
        bytes += made->plan ? made->plan->bytes() + 9 * made->numbers.size() : 0;
    gone = all_.put(signature, std::move(entry), bytes, settings().plans_mb << 20);
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
