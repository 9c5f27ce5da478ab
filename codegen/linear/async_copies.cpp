#include "strata/codegen/linear/async_copies.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace strata::codegen {
namespace {

Space space_of(UOp access) { return memory_of(access).as<ParamArg>().space; }

}  // namespace

AsyncCopies::AsyncCopies(std::span<const UOp> ops) {
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
        return static_cast<int>(std::ranges::count_if(stores, [&](UOp u) { return is_async(u); }));
    };
    if (loops.empty() || std::ranges::adjacent_find(loops, std::not_equal_to<>()) != loops.end()) return;
    const int each = std::max(count(inside) / static_cast<int>(loops.size()), 1);
    if (count(before) % each == 0) of_step_ = each, steps_ahead_ = std::max(count(before) / each - 1, 0);
}

bool AsyncCopies::is_async(UOp store) const {
    return store.src(1).is(Op::load) && filled_.contains(memory_of(store)) && space_of(store.src(1)) == Space::global;
}

}  // namespace strata::codegen
