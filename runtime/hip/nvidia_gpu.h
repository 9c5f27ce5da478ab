#pragma once
#include "strata/runtime/hip/nvidia_driver.h"
#include "strata/runtime/hip/nvidia_read.h"
#include "strata/runtime/hip/small_blocks.h"

namespace strata::hip {

/// A device of NVIDIA's driver, set up.
struct Gpu {
    int device = 0;  ///< the driver's handle
    void *context = nullptr, *pool = nullptr;
    DeviceProperties properties;
    int shared_asked_most = 0;  ///< bytes of a block that a launch may ask for
    SmallBlocks small;
    Reader reader;
};

/// The driver and a device, whose context is the thread's from here on.
struct Place {
    const NvidiaDriver* driver;
    Gpu* gpu;
};
Result<Place> place(int device);

}  // namespace strata::hip
