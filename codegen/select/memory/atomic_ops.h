#pragma once
#include "strata/codegen/select/memory/atomics.h"

namespace strata::codegen {

/// Atomics that give what they found.
class AtomicOps : SelectionPart {
  public:
    AtomicOps(SelectionContext& context, Packing& packing, Memory& memory, Atomics& swaps);
    bool run(UOp u);
    void fetched(UOp u);

  private:
    bool by_row(UOp u, MemoryAccess to, Place old);
    void compare_exchange(UOp u, const MemoryAccess& to, Place old);
    bool swap_until_done(UOp u, MemoryAccess to, Place old);
    void set_scope(Instruction& made, UOp u) const;
    Place data(UOp value) {
        return code_.in_vector(packing_.packed(this->value(value), value.dtype()), dwords_of(value.dtype()));
    }

    Packing& packing_;
    Memory& memory_;
    Atomics& swaps_;
    UOpMap<Place> found_;  ///< of atomics that are asked for it
};

}  // namespace strata::codegen
