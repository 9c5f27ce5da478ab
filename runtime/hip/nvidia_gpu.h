#pragma once
#include "strata/core/support/mutex.h"
#include "strata/runtime/hip/nvidia_driver.h"
#include "strata/runtime/hip/small_blocks.h"

namespace strata::hip {

/// A device of NVIDIA's driver, set up.
struct Gpu {
    int device = 0;  ///< the driver's handle
    void *context = nullptr, *pool = nullptr;
    DeviceProperties properties;
    int shared_asked_most = 0;  ///< bytes of a block that a launch may ask for
    SmallBlocks small;
    Mutex page_mutex;
    void* page = nullptr;  ///< of the host, which the device writes to itself: what is small is read by way of it
};

/// The driver and a device, whose context is the thread's from here on.
struct Place {
    const NvidiaDriver* driver;
    Gpu* gpu;
};
Result<Place> place(int device);

/// Memory of a device to the host. The driver has pages of its own for most memory of the host, and waits for them longer than for
/// ours; who finds that taken does not wait for it.
Result<void> read_memory(const Place& at, void* to, DevicePtr from, size_t bytes);

}  // namespace strata::hip
