#pragma once
#include "strata/providers/nvidia/allocator_bins.h"
#include "strata/providers/nvidia/driver.h"
#include "strata/providers/nvidia/readback.h"
#include "strata/providers/nvidia/wrong_indices.h"

namespace strata::providers {

/// A device of NVIDIA's driver, set up.
struct Gpu {
    int device = 0;  ///< the driver's handle
    void *context = nullptr, *pool = nullptr;
    DeviceProperties properties;
    int shared_asked_most = 0;  ///< bytes of a block that a launch may ask for
    AllocatorBins small;
    Readback readback;
    WrongIndices wrong_indices;
};

/// The driver and a device, whose context is the thread's from here on.
struct Place {
    const NvidiaDriver* driver;
    Gpu* gpu;
};
Result<Place> place(int device);

}  // namespace strata::providers
