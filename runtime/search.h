#pragma once
#include "strata/codegen/optimize/action.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// The kernel with a schedule: by hand-written rules, or from the search when settings().beam is not 0. `buffers` are
/// the memory that the search may read; the output is not touched.
codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel,
                                   std::span<const hip::DevicePtr> buffers);

}  // namespace strata::runtime
