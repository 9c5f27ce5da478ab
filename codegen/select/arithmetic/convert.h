#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// Casts, and integers narrower than 32 bits extended as their type says.
class Conversions : SelectionPart {
  public:
    explicit Conversions(SelectionContext& context) : SelectionPart(context) {}
    bool convert(UOp u, const Value& x);
    Value reinterpret(UOp u, const Value& x);
    Value narrowed(Value value, DType type);

  private:
    bool convert_truth(UOp u, const Value& x);
    bool convert_to_truth(UOp u, const Value& x);
    Value converted(const Value& x, NumberClass from, NumberClass to);
};

}  // namespace strata::codegen
