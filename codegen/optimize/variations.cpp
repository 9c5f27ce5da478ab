#include "strata/codegen/optimize/variations_p.h"

#include <algorithm>

#include "strata/codegen/optimize/actions_p.h"

namespace strata::codegen {
namespace {

class Variations {
  public:
    Variations(const Kernel& kernel, const std::vector<Action>& actions, const Target& target)
        : kernel_(kernel), actions_(actions), target_(target) {}

    std::vector<Scheduled> run() {
        for (size_t i = 0; i < actions_.size(); ++i) {
            std::vector<Action> other = actions_;
            other.erase(other.begin() + static_cast<ptrdiff_t>(i));
            add(std::move(other));
            for (const int64_t amount : {actions_[i].amount / 2, actions_[i].amount * 2}) {
                other = actions_;
                other[i].amount = amount;
                if (amount > 0) add(std::move(other));
            }
        }
        insert_before_last();
        return std::move(found_);
    }

  private:
    void insert_before_last() {
        const auto last = static_cast<ptrdiff_t>(actions_.size()) - 1;
        const Result<Kernel> before = apply_all(kernel_, std::span(actions_).first(static_cast<size_t>(last)), target_);
        if (!before) return;
        for (size_t row = 0; row < action_rows().size(); ++row) {
            const auto kind = static_cast<ActionKind>(row);
            if (kind == actions_.back().kind) continue;
            for (int axis = 0; axis < static_cast<int>(axes_of(*before, kind).size()); ++axis) {
                std::vector<Action> other = actions_;
                other.insert(other.begin() + last, {kind, axis, action_rows()[row].amounts[0]});
                add(std::move(other));
            }
        }
    }

    void add(std::vector<Action> actions) {
        if (actions == actions_) return;
        if (Result<Kernel> made = apply_all(kernel_, actions, target_))
            found_.push_back({*std::move(made), std::move(actions)});
    }

    const Kernel& kernel_;
    const std::vector<Action>& actions_;
    const Target& target_;
    std::vector<Scheduled> found_;
};

}  // namespace

std::vector<Scheduled> variations(const Kernel& kernel, const std::vector<Action>& actions, const Target& target) {
    if (actions.empty()) return {};
    return Variations(kernel, actions, target).run();
}

}  // namespace strata::codegen
