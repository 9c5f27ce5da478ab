#include "strata/codegen/linear/loop_key_p.h"

#include <algorithm>

namespace strata::codegen {

LoopKeys::LoopKeys(const Scopes& scopes) : scopes_(scopes), serial_(scopes.with_axis({Axis::loop, Axis::reduce})) {
    depth_.reserve(scopes.order().size());
    std::vector<std::vector<UOp>> by_depth(1);
    for (UOp u : scopes.order()) {
        size_t depth = 0;
        for (UOp s : u.src()) depth = std::max(depth, depth_.at(s));
        depth += u.is(Op::reduce);
        if (std::optional<OnlineTerms> terms = with_its_maximum(u)) {
            depth = depth_.at(terms->top);
            online_[u] = *terms;
        }
        depth_[u] = depth;
        by_depth.resize(std::max(by_depth.size(), depth + 1));
        by_depth[depth].push_back(u);
    }
    order_.reserve(scopes.order().size());
    for (const std::vector<UOp>& nodes : by_depth) order_.insert(order_.end(), nodes.begin(), nodes.end());
}

std::optional<OnlineTerms> LoopKeys::with_its_maximum(UOp u) const {
    if (!u.is(Op::reduce) || !(scopes_.closed_by(u) & serial_)) return {};
    std::optional<OnlineTerms> terms = online_terms(u, depth_);
    return terms && loops_around(u) == loops_around(terms->top) ? terms : std::nullopt;
}

const OnlineTerms* LoopKeys::online(UOp reduce) const {
    auto found = online_.find(reduce);
    return found == online_.end() ? nullptr : &found->second;
}

LoopKey LoopKeys::key(UOp reduce) const { return {scopes_.closed_by(reduce), loops_around(reduce), depth_.at(reduce)}; }

}  // namespace strata::codegen
