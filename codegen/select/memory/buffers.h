#pragma once
#include "strata/codegen/select/memory/address.h"
#include "strata/codegen/select/memory/known_predicates.h"

namespace strata::codegen {

/// Sets the bits that an access at a place has by its cache policy.
void set_cache_bits(Instruction& made, UOp index, bool stores, isa::Family family);

/// Global memory of which predicated accesses go through a descriptor.
class Buffers : SelectionPart {
  public:
    Buffers(SelectionContext& context, Packing& packing, Addresses& addresses);
    void begin_descriptors();
    bool load(UOp u, Mnemonic name);
    bool store(UOp index, Mnemonic name, Place data);

  private:
    struct Bounded {
        int64_t before = 0;  ///< bytes that the descriptor begins in front of the memory
        int64_t bytes = 0;   ///< of the descriptor
        Place descriptor{};
        int loads = 0, stores = 0;  ///< what those are worth
    };
    void find();
    bool may_be_bounded(UOp index);
    bool may_be_bounded(UOp load, UOp around);
    bool bounds_stores(UOp memory) const;
    Address address(UOp index, const Bounded& memory, bool is_exact);
    Instruction& add_access(Mnemonic name, UOp index, const Bounded& memory, bool stores);

    Packing& packing_;
    Addresses& addresses_;
    KnownPredicates predicates_;
    UOpMap<Bounded> bounded_;                             ///< of global memory
    std::vector<std::pair<UOp, UOp>> predicated_stores_;  ///< innermost loop and predicate
};

}  // namespace strata::codegen
