#pragma once
#include <cstddef>
#include <cstdint>

#include "strata/core/support/mutex.h"
#include "strata/providers/nvidia/driver.h"

namespace strata::providers {

/// How small values come to the host. A kernel writes them to a page of the host's and a number after them, which the
/// host polls. The driver's own copy is a copy engine's work, which starts later after a kernel and is reported later.
struct Readback {
    Mutex mutex;             ///< who finds it taken has the driver copy
    void* page = nullptr;    ///< of the host, known to the device by the same address
    uint32_t turn = 0;       ///< the number of the last reading
    void* kernel = nullptr;  ///< none: the driver has no compiler of PTX, or it does not read right; the driver copies
};

/// In the device's context, which is the thread's.
Result<void> open_readback(const NvidiaDriver& driver, Readback& readback);

/// Memory of a device to the host, in order with its default stream. The driver has pages of its own for most memory of
/// the host, and waits for them longer than for ours.
Result<void> read_back(const NvidiaDriver& driver, Readback& readback, void* to, DevicePtr from, size_t bytes);

}  // namespace strata::providers
