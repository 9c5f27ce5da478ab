#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "strata/core/support/mutex.h"
#include "strata/providers/hip_api.h"

namespace strata::providers {

/// A pool's requests to a driver. Its errors are those that no freed memory would mend.
struct MemoryDriver {
    struct Info {
        size_t free = 0, total = 0;
    };
    std::function<Result<std::optional<DevicePtr>>(size_t bytes)> malloc;  ///< none: out of memory
    std::function<Result<void>(DevicePtr)> free;
    std::function<Result<void>()> synchronize;  ///< before memory goes back that kernels may be using
    std::function<Info()> info;
};

/// The memory of a device, of which freed blocks are kept for the next request of their size. Drivers take tens to
/// hundreds of microseconds for an allocation. A block is handed out again while kernels that were launched before may
/// still use it. Uses of memory must therefore be in the order of one stream, or of the default one that waits for all.
/// Thread-safe.
class MemoryPool {
  public:
    MemoryPool(std::string device, MemoryDriver driver) : device_(std::move(device)), driver_(std::move(driver)) {}

    /// Out of memory, all that is kept goes back to the driver, which is asked once more. Error: Device, with the bytes
    /// that were asked for, those that are free, and those that were kept.
    Result<DevicePtr> malloc(size_t bytes);
    Result<void> free(DevicePtr memory);
    size_t pooled_bytes();

    /// The size of a request: whole units of 512 bytes, from 1 MiB on of 2 MiB, as drivers have pages of that size.
    static size_t rounded(size_t bytes);

  private:
    Result<void> trim();
    Error out_of_memory(size_t bytes, size_t kept) const;

    const std::string device_;
    const MemoryDriver driver_;
    Mutex mutex_;
    std::map<DevicePtr, size_t> live_;
    std::multimap<size_t, DevicePtr> kept_;  ///< by size
    size_t live_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace strata::providers
