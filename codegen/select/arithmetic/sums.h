#pragma once
#include "strata/codegen/select/arithmetic/dots.h"

namespace strata::codegen {

std::optional<Mnemonic> shifted_add(int64_t factor);  ///< of scalars: a * factor + b, the carry of all of it in SCC
std::optional<Mnemonic> short_product(UOp product, Mnemonic without_sign, Mnemonic with_sign);

/// Sums of integers that fewer instructions do than one an operation.
class Sums : SelectionPart {
  public:
    Sums(SelectionContext& context, Packing& packing)
        : SelectionPart(context), dots_(context, packing), shared_sums_(context.regions) {}
    bool fused(UOp u);

  private:
    bool rotated(UOp u);
    bool counted(UOp u);
    bool scalar_sum(UOp u);
    bool sum_of_scalars(UOp u, std::span<const UOp> terms);
    bool product_sum(UOp u);
    Source shared_sum(std::span<const Source> scalars);
    void add_terms(UOp u, std::vector<UOp>& terms) const;

    Dots dots_;
    Remembered<std::vector<uint64_t>, Source> shared_sums_;  ///< by scalars and the number at the end
};

}  // namespace strata::codegen
