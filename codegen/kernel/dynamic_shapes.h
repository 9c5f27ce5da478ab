#pragma once
#include <optional>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The numbers in which kernels of one form over other sizes may differ. They are sizes of ranges and of memory, and
/// constants of their arithmetic and offsets.
struct Sizes {
    std::vector<uint64_t> values;  ///< by place in the graph
    uint64_t form;                 ///< a hash of everything else in the kernel
};
/// None: a kernel that needs its sizes, as those with scans do.
std::optional<Sizes> sizes_of(UOp sink);

struct AnySize {
    UOp sink;
    std::vector<uint64_t> numbers;  ///< that the launch gives from the first slot on
};
/// The same kernel with parameters in place of those values. Ranges end at a power of two that is not below their size,
/// and are masked beyond it. One kernel therefore serves all sizes up to there.
AnySize with_any_size(UOp sink, const std::vector<bool>& changing, int first_slot);

}  // namespace strata::codegen
