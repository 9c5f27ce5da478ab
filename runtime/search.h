#pragma once
#include "strata/codegen/optimize/action.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// The kernel with a schedule: by hand-written rules, or from the search when settings().beam is not 0. `slots` are
/// the arguments of a launch, whose memory the search may read; the output is not touched.
codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots);

}  // namespace strata::runtime
