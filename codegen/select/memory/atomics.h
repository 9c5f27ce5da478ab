#pragma once
#include "strata/codegen/select/memory/memory.h"

namespace strata::codegen {

/// An atomic of global memory gives what was there.
void returns(Instruction& atomic, isa::Family family);

/// Atomic additions.
class Atomics : SelectionPart {
  public:
    Atomics(SelectionContext& context, Packing& packing, Memory& memory);
    bool add(UOp u);
    /// Where memory has `from` it gets `to`; `now` is what it had, in lanes that take part.
    Instruction& compare_and_swap(const MemoryAccess& where, Place now, Place to, Place from);

  private:
    struct Field {
        MemoryAccess dword;
        Source shift, bits;  ///< where in the dword it begins; a mask
    };
    bool by_row(UOp u);
    void swap_until_added(UOp u);
    Field field_around(MemoryAccess to, DType type);
    Source added_to_field(const Field& field, DType type, const Source& old, const Source& value);
    Source rounded_to_bfloat16(const Source& x);

    Packing& packing_;
    Memory& memory_;
    WideIntegers wide_;
};

}  // namespace strata::codegen
