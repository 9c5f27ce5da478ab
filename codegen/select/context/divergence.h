#pragma once
#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// Which lanes of a wave part from each other: where loops are left by a condition in which they may differ.
class Divergence : SelectionPart {
  public:
    explicit Divergence(SelectionContext& context) : SelectionPart(context) { find(); }

    bool varies(UOp u);             ///< lanes of a wave may differ in it
    bool splits(UOp range) const {  ///< lanes may leave that loop at different times
        return splits_.contains(range);
    }
    bool splits(size_t position) const { return split_at_[position]; }  ///< the operation stands in such a loop

  private:
    void find();

    UOpMap<bool> varies_, splits_;
    std::vector<bool> split_at_;  ///< by position in the program
};

}  // namespace strata::codegen
