#pragma once
#include <cstdint>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/target/target.h"
#include "strata/core/uop/scopes.h"

namespace strata::codegen {

/// A load or store.
struct Access {
    UOp node, memory;  ///< the param
    bool store;
    bool written;                ///< the kernel stores to its memory
    int bytes;                   ///< of an element
    RangeSet open;               ///< ranges that it is done for
    std::vector<int64_t> by;     ///< how many elements it moves with each range
    std::vector<int64_t> lanes;  ///< where the lanes of the first wave are, in elements
};

/// True if scalar registers have it: all lanes of a wave read one element of memory that is only read.
bool is_scalar(const Access& access, const Target& target);

/// All of a kernel, with its threads as lanes.
std::vector<Access> accesses_of(const Scopes& scopes, int wave_size);

}  // namespace strata::codegen
