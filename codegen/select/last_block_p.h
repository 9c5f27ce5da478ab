#pragma once
#include "strata/codegen/select/control_p.h"
#include "strata/codegen/select/memory/memory.h"

namespace strata::codegen {

/// Kernels of which one wave or the last block goes on, and the fences by which blocks hand memory over.
class LastBlock : SelectionPart {
  public:
    LastBlock(SelectionContext& context, Memory& memory, Control& control)
        : SelectionPart(context), memory_(memory), control_(control) {}
    void first_wave(UOp u);
    void last_block(UOp u);
    void fence(bool releases, MemoryScope scope = MemoryScope::device);

  private:
    void go_on_where(Mnemonic compare, Source value, uint64_t number, std::string label);

    Memory& memory_;
    Control& control_;
};

}  // namespace strata::codegen
