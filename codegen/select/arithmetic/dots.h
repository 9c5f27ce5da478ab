#pragma once
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// Products of bytes that are added up.
class Dots : SelectionPart {
  public:
    Dots(SelectionContext& context, Packing& packing) : SelectionPart(context), packing_(packing) {}
    bool dot(UOp u, std::span<const UOp> terms);

  private:
    using Byte = Packing::Byte;
    struct ByteProduct {
        UOp product;
        Byte a, b;
        bool signed_a = false, signed_b = false;
    };
    std::optional<Byte> byte_of(UOp factor);
    std::optional<ByteProduct> byte_product(UOp u);

    Packing& packing_;
};

}  // namespace strata::codegen
