#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::runtime {

/// Memory that one step of a schedule fills.
struct FilledMemory {
    uint64_t bytes = 0;
    std::string value;  ///< "float32 (64, 1)"
    size_t filled = 0;  ///< by this step
    size_t read = 0;    ///< by this step last; the number of steps: it is a result
    int over = -1;  ///< what was in the same memory before, by place among the others: its last reader may write there
    std::string why;  ///< its value is stored
};

/// What computing tensors keeps in memory. Bytes are those that realize takes but for what it keeps to use again, between
/// steps, where no peak is higher for it.
struct MemoryOutline {
    std::vector<std::string> steps;  ///< names of their kernels
    std::vector<FilledMemory> filled;
    std::vector<uint64_t> kept;                            ///< of what the steps fill, while each runs
    std::vector<std::pair<uint64_t, std::string>> inputs;  ///< bytes and type of what is in memory already
};
MemoryOutline memory_outline(std::span<const UOp> roots);

}  // namespace strata::runtime
