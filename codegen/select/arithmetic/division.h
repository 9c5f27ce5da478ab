#pragma once
#include <tuple>

#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// The steps of a division; those that share v_div_scale make it once.
class Division : SelectionPart {
  public:
    explicit Division(SelectionContext& context) : SelectionPart(context), scaled_(context.regions) {}
    bool step(UOp u);

  private:
    Code::Carried scaled(UOp n, UOp d, bool of_n);

    using Scaling = std::tuple<const Node*, const Node*, bool>;  ///< n, d, of_n
    Remembered<Scaling, Code::Carried> scaled_;
};

}  // namespace strata::codegen
