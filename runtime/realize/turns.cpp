// turns: which thread runs a user's kernel that several wait for.
#include "strata/runtime/realize/turns_p.h"

#include <set>

#include "strata/core/uop/uop_map.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {
namespace {

std::set<uint64_t> waiting(std::span<const UOp> roots, const std::function<bool(UOp node)>& has_run) {
    std::set<uint64_t> ids;
    std::vector<UOp> stack(roots.begin(), roots.end());
    UOpMap<bool> seen;
    while (!stack.empty()) {
        const UOp u = stack.back();
        stack.pop_back();
        if (!seen.try_emplace(u, true).second || u.is(Op::buffer) || has_run(u)) continue;
        if (u.is(Op::custom)) ids.insert(u.as<CustomArg>().id);
        stack.insert(stack.end(), u.src().begin(), u.src().end());
    }
    return ids;
}

}  // namespace

Turns::Turns(std::span<const UOp> roots, const std::function<bool(UOp node)>& has_run) {
    for (uint64_t id : waiting(roots, has_run)) {
        mutexes_.push_back(context().custom.turn(id));
        locks_.push_back(std::make_unique<StoppableLock>(*mutexes_.back()));
    }
}

}  // namespace strata::runtime
