#pragma once
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// Matrix products and their fragments.
class MatrixProducts : SelectionPart {
  public:
    MatrixProducts(SelectionContext& context, Packing& packing) : SelectionPart(context), packing_(packing) {}
    void product(UOp u);

  private:
    Place fragment(UOp u);
    Source loaded_dword(UOp u, size_t first, size_t count) const;

    Packing& packing_;
};

}  // namespace strata::codegen
