#pragma once
#include <string>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/providers/nvidia/driver.h"
#include "strata/providers/nvidia/readback.h"

namespace strata::providers {

/// The indices outside of their axes that kernels of a device may have left (core/support/wrong_index.h). They are read
/// when the host waits for the kernels' stream, not after each launch: launches go on meanwhile.
class WrongIndices {
  public:
    /// A kernel that was put into the stream leaves one there.
    void expect(DevicePtr where, const std::string& kernel, void* stream);
    /// The stream's work is done: an error that names the kernel and the index, if any left one.
    Result<void> look(const NvidiaDriver& driver, Readback& readback, void* stream);
    /// The memory goes.
    void forget(DevicePtr where);

  private:
    struct Expected {
        DevicePtr where;
        std::string kernel;
        void* stream;
    };
    Mutex mutex_;
    std::vector<Expected> expected_;
};

}  // namespace strata::providers
