#pragma once
#include <span>
#include <vector>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {

/// Values of all threads of a block in local memory. `loops`: the serial ranges around it.
class BlockExchange {
  public:
    BlockExchange(std::span<const UOp> loops, int& next_slot) : loops_(loops), next_slot_(next_slot) {}

    /// In a loop local memory is written again when all threads have read the previous round's result: a barrier stands
    /// between. It follows the store of the values to registers, which is in the loop.
    void wait_for_readers(std::vector<UOp>& values);
    UOp memory(int64_t size, DType type);
    void meet(std::span<const UOp> effects);
    UOp settled(UOp memory) const;

  private:
    std::span<const UOp> loops_;
    int& next_slot_;
    UOp barrier_;
};

/// The mask that reaches a lane beyond `bit` in the cheapest way, where lanes that differ in some of `same` alone have
/// one value.
int cheapest_mask(const Target& target, int bit, std::span<const int> same);

/// The same value to all rules of algebra: sums of integers, in the order of their terms, would be rebuilt at each
/// step.
UOp in_register(UOp value, std::span<const UOp> loops, int& next_slot);

}  // namespace strata::codegen
