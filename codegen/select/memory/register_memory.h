#pragma once
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// Memory of Space::reg: a register an element.
class RegisterMemory : SelectionPart {
  public:
    RegisterMemory(SelectionContext& context, Packing& packing) : SelectionPart(context), packing_(packing) {}
    void add(UOp memory);
    bool load(UOp u);
    bool store(UOp u);
    bool has(Place place) const;

  private:
    bool stays(UOp load) const;

    Packing& packing_;
    UOpMap<std::vector<Place>> registers_;  ///< one an element
};

}  // namespace strata::codegen
