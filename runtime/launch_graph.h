#pragma once
#include <memory>
#include <span>

#include "strata/runtime/program.h"

namespace strata::runtime {

/// Launches of programs that the device is given as one, each after those before it.
class LaunchGraph {
  public:
    explicit LaunchGraph(Device& device)
        : device_(device), handle_(device.api().graph_create(device.ordinal()).value()) {}
    ~LaunchGraph() { (void)device_.api().graph_destroy(handle_); }
    LaunchGraph(const LaunchGraph&) = delete;

    /// Error: Unsupported, where a launch of the program has to be looked at on its own.
    Result<void> add(const Program& program, std::span<const uint64_t> slots);
    /// From the next launch on; `kernel` counts those added.
    void set(size_t kernel, const Program& program, std::span<const uint64_t> slots);
    /// Returns before they have run. Timed: gives the time that they take together, else null.
    std::unique_ptr<PendingTime> launch(Wait wait);

  private:
    Device& device_;
    providers::GraphHandle* handle_;
};

}  // namespace strata::runtime
