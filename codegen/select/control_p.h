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
    /// A loop that may run no iteration: the block before it, which then branches past it, and the addresses valid
    /// there.
    struct Skip {
        uint32_t from;
        Addresses::Known known;
    };
    struct Loop {
        Place counter;
        Source steps;
        uint32_t block;
        std::optional<Skip> skip;
    };
    void skip_loop(Loop loop);

    Addresses& addresses_;
    std::vector<Loop> loops_;  ///< of the context's
};

}  // namespace strata::codegen
