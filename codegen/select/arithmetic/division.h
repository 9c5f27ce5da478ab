#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// The steps of a division; those that share v_div_scale make it once.
class Division : SelectionPart {
  public:
    explicit Division(SelectionContext& context) : SelectionPart(context) {}
    bool step(UOp u);

  private:
    Code::Carried scaled(UOp n, UOp d, bool of_n);

    struct Scaled {
        UOp n, d;
        bool of_n;
        Code::Carried made;
    };
    std::vector<Scaled> scaled_;
};

}  // namespace strata::codegen
