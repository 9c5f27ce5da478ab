#include "strata/codegen/optimize/neighbours_p.h"

#include <algorithm>

#include "strata/codegen/optimize/actions_p.h"

namespace strata::codegen {
namespace {

class Neighbours {
  public:
    Neighbours(Schedules& schedules, const std::vector<Action>& actions) : schedules_(schedules), actions_(actions) {}

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
        tile_in_other_ways();
        insert_before_last();
        return schedules_.those_of(std::move(wanted_));
    }

  private:
    void tile_in_other_ways() {
        std::vector<Action> other = actions_;
        for (size_t row = 0; row < action_rows().size(); ++row) {
            other.back().kind = static_cast<ActionKind>(row);
            if (!makes_tiles(other.back().kind)) continue;
            for (const int64_t amount : {actions_.back().amount, actions_.back().amount / 2}) {
                other.back().amount = amount;
                if (amount > 0) add(other);
            }
        }
    }
    void insert_before_last() {
        const auto last = static_cast<ptrdiff_t>(actions_.size()) - 1;
        const Result<Kernel>& before = schedules_.of(std::span(actions_).first(static_cast<size_t>(last)));
        if (!before) return;
        for (size_t row = 0; row < action_rows().size(); ++row) {
            const auto kind = static_cast<ActionKind>(row);
            const std::vector<int64_t>& amounts = action_rows()[row].amounts;
            if (makes_tiles(kind) || amounts.empty()) continue;
            for (int axis = 0; axis < static_cast<int>(axes_of(*before, kind).size()); ++axis) {
                std::vector<Action> other = actions_;
                other.insert(other.begin() + last, {kind, axis, amounts[0]});
                add(std::move(other));
            }
        }
    }

    void add(std::vector<Action> actions) {
        if (actions != actions_) wanted_.push_back(std::move(actions));
    }

    Schedules& schedules_;
    const std::vector<Action>& actions_;
    std::vector<std::vector<Action>> wanted_;
};

}  // namespace

std::vector<Scheduled> neighbours(Schedules& schedules, const std::vector<Action>& actions) {
    if (actions.empty()) return {};
    return Neighbours(schedules, actions).run();
}

}  // namespace strata::codegen
