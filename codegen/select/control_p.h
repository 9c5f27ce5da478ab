#pragma once
#include "strata/codegen/select/memory/address.h"

namespace strata::codegen {

/// Loops and barriers.
class Control : SelectionPart {
  public:
    Control(SelectionContext& context, Addresses& addresses) : SelectionPart(context), addresses_(addresses) {}
    void begin_loop(UOp range);
    void end_loop(UOp range);
    void barrier();

  private:
    struct Loop {
        Place counter;
        Source steps;
        uint32_t block;
        std::optional<uint32_t> skipped_from;  ///< the block before a loop that may run no iteration
    };
    void skip_loop(const Loop& loop);

    Addresses& addresses_;
    std::vector<Loop> loops_;  ///< of the context's
};

}  // namespace strata::codegen
