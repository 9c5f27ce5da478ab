#pragma once
#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Copies from global to local memory in loops, which go on behind the statements that follow, up to a barrier.
class AsyncCopies {
  public:
    AsyncCopies() = default;
    /// Where several loops copy, each waits for all that is under way, unless one goes on where another ended (split_loops): to the same
    /// memories, a step or several.
    explicit AsyncCopies(std::span<const UOp> ops) {
        std::vector<UOp> before, inside;      // stores of what is read from memory
        std::vector<std::vector<UOp>> loops;  // the memories that each copies to
        UOp outermost, last;
        size_t depth = 0;
        for (UOp u : ops) {
            if (u.is(Op::range) && depth++ == 0) outermost = u;
            if (u.is(Op::end) && --depth == 0) outermost = {};
            if (!u.is(Op::store) || !u.src(1).is(Op::load) || space_of(u) != Space::local) continue;
            const bool first = !depth && loops.empty();
            (first ? before : inside).push_back(u);
            if (first) continue;
            if (std::exchange(last, outermost) != outermost) loops.emplace_back();
            loops.back().push_back(memory_of(u));
        }
        for (UOp u : inside) filled_[memory_of(u)] = true;
        const auto count = [&](const std::vector<UOp>& stores) {
            return static_cast<int>(std::ranges::count_if(stores, [&](UOp u) { return goes_on_behind(u); }));
        };
        if (loops.empty() || std::ranges::adjacent_find(loops, std::not_equal_to<>()) != loops.end()) return;
        const int each = std::max(count(inside) / static_cast<int>(loops.size()), 1);
        if (count(before) % each == 0) of_step_ = each, steps_ = std::max(count(before) / each - 1, 0);
    }

    int of_step() const { return of_step_; }  ///< copies that are waited for together
    /// Whose copies a loop's barriers need not wait for: those that stand before it less its next one.
    int steps() const { return steps_; }
    bool goes_on_behind(UOp store) const {
        return store.src(1).is(Op::load) && filled_.contains(memory_of(store)) &&
               space_of(store.src(1)) == Space::global;
    }

  private:
    static Space space_of(UOp access) { return memory_of(access).as<ParamArg>().space; }

    UOpMap<bool> filled_;
    int of_step_ = 1, steps_ = 0;
};

}  // namespace strata::codegen
