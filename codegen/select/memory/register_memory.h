#pragma once
#include "strata/codegen/select/context/divergence.h"
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// Memory of Space::reg: a register an element. A store that not all lanes make leaves the others' elements.
class RegisterMemory : SelectionPart {
  public:
    RegisterMemory(SelectionContext& context, Packing& packing, Divergence& divergence)
        : SelectionPart(context), packing_(packing), divergence_(divergence) {}
    void add(UOp memory);
    bool load(UOp u);
    bool store(UOp u);
    bool has(Place place) const;

  private:
    bool stays(UOp load) const;

    Packing& packing_;
    Divergence& divergence_;
    UOpMap<std::vector<Place>> registers_;  ///< one an element
};

}  // namespace strata::codegen
