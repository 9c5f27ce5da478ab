#pragma once
#include <vector>

#include "strata/executable/executable.h"

namespace strata::executable {

/// One block of device memory that has all places.
struct Workspace {
    uint64_t bytes = 0;
    std::vector<uint64_t> offsets = {};  ///< by place
};

/// Places that are in use at one step lie apart. The largest are laid out first, each as low as it fits.
Workspace lay_out_workspace(const Executable& executable, uint64_t alignment = 256);

}  // namespace strata::executable
