#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/providers/hip_api.h"

namespace strata::providers {

/// Small blocks of a driver's memory that were freed, for the next requests of their size. A kernel between the
/// driver's allocation and free of its memory takes 7 us more (H100, CUDA 13.0). Large ones stay the driver's, so that
/// other libraries of the process get them. As a driver's pool on the default stream, blocks are handed out again in
/// the order of that stream. Thread-safe.
class AllocatorBins {
  public:
    /// The size of a request to the driver: whole units for a small block.
    static size_t rounded(size_t bytes);

    /// A kept block for `bytes` bytes; nothing where there is none, or they are many.
    std::optional<DevicePtr> take(size_t bytes);
    /// A block of rounded(bytes) that the driver gave.
    void add(DevicePtr memory, size_t bytes);
    /// True if the block is kept; else the driver is to free it.
    bool keep(DevicePtr memory);
    /// All that are kept, for the driver to free.
    std::vector<DevicePtr> give_back();
    size_t kept_bytes();

  private:
    Mutex mutex_;
    std::unordered_map<DevicePtr, size_t> in_use_;             ///< bytes
    std::unordered_map<size_t, std::vector<DevicePtr>> kept_;  ///< by bytes
    size_t kept_bytes_ = 0;
};

}  // namespace strata::providers
