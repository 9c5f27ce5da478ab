#include "strata/asm/emu/observe/caches.h"

#include <algorithm>

namespace strata::emu {

double Caches::kept(double mib, double since) { return mib > 0 ? std::clamp(2 - since / (mib * kMiB), 0.0, 1.0) : 0; }

Caches::Held Caches::held(uint64_t low) const {
    const auto at = std::ranges::find(uses_, low, [](const Past& past) { return past.use.low; });
    if (at == uses_.end()) return {};
    double since = 0, since_in_l2 = 0;
    for (const Past& other : uses_) {
        if (other.launch < at->launch) continue;
        since += other.use.bytes;
        since_in_l2 += other.use.l2_bytes;
    }
    // The L2 of the writing die holds a written line. The next reader is on each die equally often.
    const double l2 = kept(model_->l2_mib, since_in_l2) / (at->use.written ? model_->dies : 1);
    return {at->use.begin, at->use.end, l2, std::max(l2, kept(model_->llc_mib, since))};
}

void Caches::use(std::span<const Use> uses) {
    ++launches_;
    std::erase_if(uses_,
                  [&](const Past& past) { return std::ranges::find(uses, past.use.low, &Use::low) != uses.end(); });
    // Forget the allocations that no cache holds any more.
    std::erase_if(uses_, [&](const Past& past) { return held(past.use.low).llc == 0; });
    for (const Use& use : uses) uses_.push_back({use, launches_});
}

}  // namespace strata::emu
