#pragma once
#include <tuple>

#include "strata/codegen/linear/online_softmax_p.h"
#include "strata/core/uop/scopes.h"

namespace strata::codegen {

/// Reductions of equal keys become one loop. They have equal ranges, equal loops around them, and an equal depth of
/// reductions below, so that none in the loop needs another one's result. Attention rescales its partial sums, so it
/// counts as deep as its maximum.
using LoopKey = std::tuple<RangeSet, RangeSet, size_t>;

class LoopKeys {
  public:
    explicit LoopKeys(const Scopes& scopes);
    /// All nodes, sources before users, and the values of all reductions with one key before any of these reductions.
    const std::vector<UOp>& order() const { return order_; }
    LoopKey key(UOp reduce) const;
    size_t depth(UOp u) const { return depth_.at(u); }
    const OnlineTerms* online(UOp reduce) const;  ///< null: it is no attention
    /// Ranges that stand around a node and become loops.
    RangeSet loops_around(UOp u) const { return scopes_.free(u) & serial_; }

  private:
    std::optional<OnlineTerms> with_its_maximum(UOp u) const;

    const Scopes& scopes_;
    RangeSet serial_;
    UOpMap<size_t> depth_;
    UOpMap<OnlineTerms> online_;
    std::vector<UOp> order_;
};

}  // namespace strata::codegen
