#pragma once
#include <vector>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Facts of the predicates of a kernel before it runs.
class KnownPredicates {
  public:
    /// True if a predicate often holds for some lane of a wave, if all values of what lanes share are as frequent.
    bool hold_often(UOp predicate);

  private:
    using Values = std::vector<std::pair<UOp, Bounds>>;  ///< for which a predicate holds
    bool varies(UOp u);
    void narrow(UOp predicate, Values& values);

    UOpMap<bool> varies_;
};

}  // namespace strata::codegen
