#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// 64-bit integers in pairs of registers.
class WideIntegers : SelectionPart {
  public:
    explicit WideIntegers(SelectionContext& context) : SelectionPart(context) {}
    bool elementwise(UOp u, std::span<const Value> s);
    Value sum(bool subtract, const Value& a, const Value& b);

  private:
    Value product(UOp u, const Value& a, const Value& b);
    Value shift(UOp u, const Value& x, int by);
    Value extreme(UOp u, const Value& a, const Value& b);
};

}  // namespace strata::codegen
