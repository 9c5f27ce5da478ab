#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// Registers that a kernel has when it begins.
class KernelEntry : SelectionPart {
  public:
    explicit KernelEntry(SelectionContext& context) : SelectionPart(context) {}
    void begin();

  private:
    void begin_ids();
    void begin_parameters(Place arguments);
    Place fixed(Bank bank, int dwords, uint16_t code);
};

}  // namespace strata::codegen
