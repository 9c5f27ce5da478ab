#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
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
        Op op;
        uint32_t place;                   ///< of its value
        std::array<uint32_t, 3> sources;  ///< places; of those that the op has
    };
    std::vector<std::pair<uint32_t, size_t>> ranges_;  ///< a place, and the range whose value stands there
    std::vector<Step> steps_;
    std::vector<int64_t> values_;  ///< one a node, its own last
};

}  // namespace strata::codegen
