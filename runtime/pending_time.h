#pragma once
#include "strata/runtime/device.h"

namespace strata::runtime {

/// How long a device takes for work that it was given: two events around it, which are read when the time is asked for.
class PendingTime {
  public:
    ~PendingTime();
    PendingTime(const PendingTime&) = delete;

    /// Milliseconds; waits for the work. Throws what the device reports.
    double ms() const;

  private:
    friend class Device;
    /// Takes the events from the device, which has them again at the end.
    explicit PendingTime(Device& device) : device_(device) {}
    Device& device_;
    providers::EventHandle *start_ = nullptr, *stop_ = nullptr;
};

}  // namespace strata::runtime
