#pragma once
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// Values of other lanes.
class OtherLanes : SelectionPart {
  public:
    OtherLanes(SelectionContext& context, Packing& packing) : SelectionPart(context), packing_(packing) {}
    void shuffle_xor(UOp u);
    void shuffle(UOp u);
    void ballot(UOp u);

  private:
    template <class Take>
    void exchange(UOp u, Take take);
    void take_lane(Place to, Place from, int mask);
    Source far_lane(int mask);

    Packing& packing_;
};

}  // namespace strata::codegen
