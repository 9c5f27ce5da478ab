#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "strata/asm/emu/machine/workgroup.h"

namespace strata::emu {

/// State that all workgroups of a launch share beside global memory. It is the global data share (GDS) and the barriers
/// and semaphores of global wave sync (GWS). All are zero when the launch starts, except barrier 0. It waits for one
/// wave of every workgroup, as after HIP's cooperative launch.
class GlobalShare {
  public:
    static constexpr uint32_t kBytes = 64u << 10;
    static constexpr uint32_t kResources = 64;
    /// The launch's own, made on first use.
    static GlobalShare& of(Launch& launch);

    uint8_t* bytes() { return bytes_.data(); }

    void init(uint32_t resource, uint32_t count);
    void release(uint32_t resource, int32_t count);
    /// Wakes all that wait at the semaphore now.
    void release_all(uint32_t resource);
    /// Takes one from the semaphore; false: nothing is left, ask again.
    bool acquire(uint32_t resource, const Wave* wave);
    /// Arrives at the barrier, or asks whether it opened since; false: not yet. `count` + 1 waves meet next time.
    bool arrive(uint32_t resource, const Wave* wave, uint32_t count);

  private:
    struct Resource {
        int64_t counter = 0;
        uint64_t round = 0;                       ///< barriers passed
        std::map<const Wave*, uint64_t> waiting;  ///< and the round in which they came
    };
    alignas(64) std::array<uint8_t, kBytes> bytes_{};
    std::mutex mutex_;
    std::array<Resource, kResources> resources_;
};

}  // namespace strata::emu
