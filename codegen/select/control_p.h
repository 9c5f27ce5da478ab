#pragma once
#include "strata/codegen/select/context/divergence.h"
#include "strata/codegen/select/memory/address.h"

namespace strata::codegen {

/// Loops, the lanes that are left in them, and barriers.
class Control : SelectionPart {
  public:
    Control(SelectionContext& context, Addresses& addresses, Divergence& divergence)
        : SelectionPart(context), addresses_(addresses), divergence_(divergence) {}
    void begin_loop(UOp range);
    void end_loop(UOp range);
    void break_if(UOp u);
    void barrier();
    void wave_barrier();
    void schedule(UOp u);
    void wait_for_copies(int left);  ///< until so few loads of memory are under way
    void trap(UOp u);

  private:
    struct Loop {
        Place counter;  ///< none of a loop of one step
        Source steps;
        uint32_t block = 0;
        std::optional<uint32_t> skipped_from;  ///< the block before a loop that may run no iteration
        Place around;                          ///< lanes that are active around it
        std::vector<uint32_t> left_from;       ///< blocks that end with a branch past it
    };
    void take_step(const Loop& loop);
    void skip_loop(const Loop& loop);
    void leave_by(Mnemonic branch);

    Addresses& addresses_;
    Divergence& divergence_;
    std::vector<Loop> loops_;  ///< of the context's
};

}  // namespace strata::codegen
