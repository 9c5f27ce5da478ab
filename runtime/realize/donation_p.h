#pragma once
#include <functional>
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/donation.h"
#include "strata/runtime/launch_plan.h"

namespace strata::runtime {

/// The inputs and results of a computation.
struct Reached {
    std::span<const UOp> roots, inputs;  ///< inputs: buffers
    const BufferList& memory;            ///< of the inputs, held once more by Buffers
    const Donation& donation;
    const std::function<bool(UOp)>& is_known;  ///< whether a node's value is in memory
};
/// By input, whether nothing reaches its value once the roots are in memory, and a root has as many bytes. Empty: none
/// is given up, nor where other threads compute or strict mode looks at each value in memory of its own.
std::vector<bool> find_donated(const Reached& reached, Computing& computing);

}  // namespace strata::runtime
