#pragma once
#include "strata/codegen/select/memory/buffers.h"

namespace strata::codegen {

inline constexpr uint8_t kScopeDevice = 2;  ///< RDNA4 ISA 10.9, "SCOPE_DEV"

/// Where a vector instruction finds memory, and for which lanes.
struct MemoryAccess {
    Address at;
    Place lanes, predicate;
    bool global = false;
    int32_t stride = Instruction::kUnsteady;
};

/// Loads and stores of all memory.
class Memory : SelectionPart {
  public:
    Memory(SelectionContext& context, Packing& packing, RegisterMemory& registers, Addresses& addresses,
           Buffers& buffers);
    bool load(UOp u);
    bool store(UOp u);
    bool copy_async(UOp u);
    MemoryAccess access_to(UOp index);
    Instruction& add_access(Mnemonic name, const MemoryAccess& to, Place data);

  private:
    bool load_scalar(UOp u);
    bool load_vector(UOp u);

    Packing& packing_;
    RegisterMemory& registers_;
    Addresses& addresses_;
    Buffers& buffers_;
};

}  // namespace strata::codegen
