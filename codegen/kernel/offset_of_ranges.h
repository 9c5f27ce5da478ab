#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The offset of an access as a function of a kernel's ranges; what is read from memory counts as 0.
class OffsetOfRanges {
  public:
    OffsetOfRanges(UOp offset, std::span<const UOp> ranges);
    int64_t at(std::span<const int64_t> values);  ///< one a range

  private:
    struct Step {
        UOp node;
        int range;  ///< the one that it is, -1: none
        std::vector<size_t> sources;
    };
    std::vector<Step> steps_;
    std::vector<int64_t> values_;
};

}  // namespace strata::codegen
