#include "strata/codegen/optimize/schedules_p.h"

namespace strata::codegen {

const Result<Kernel>& Schedules::of(std::span<const Action> actions) {
    if (actions.empty()) return kernel_;
    std::string key = to_string(actions);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    const Result<Kernel>& before = of(actions.first(actions.size() - 1));
    return made_.emplace(std::move(key), before ? apply(*before, actions.back(), target_) : before).first->second;
}

}  // namespace strata::codegen
