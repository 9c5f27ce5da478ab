#pragma once
#include "strata/codegen/select/arithmetic/convert.h"
#include "strata/codegen/select/arithmetic/division.h"
#include "strata/codegen/select/arithmetic/integer64.h"
#include "strata/codegen/select/arithmetic/sums.h"

namespace strata::codegen {

/// Elementwise operations of one value a lane.
class Arithmetic : SelectionPart {
  public:
    Arithmetic(SelectionContext& context, Packing& packing);
    bool elementwise(UOp u);

  private:
    bool by_row(UOp u, std::span<const Value> s);
    bool takes_scalar_floats(Mnemonic name, std::span<const Value> s) const;
    bool real(UOp u, std::span<Value> s);
    bool of_truths(UOp u, std::span<const Value> s);
    Value where(UOp u, std::span<const Value> s);
    Value float_extreme(UOp u, std::span<const Value> s);
    Value product(UOp u, std::span<const Value> s);
    // bounded.cpp
    void bounded(UOp u, std::span<const Value> s);

    Packing& packing_;
    Conversions conversions_;
    Division division_;
    WideIntegers wide_;
    Sums sums_;
};

}  // namespace strata::codegen
