#pragma once
#include <map>
#include <memory>

#include "strata/asm/emu/gpu.h"
#include "strata/asm/emu/launch/kernel.h"
#include "strata/asm/emu/launch/plan.h"
#include "strata/asm/emu/launch/repeated.h"
#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/observe/caches.h"
#include "strata/asm/emu/observe/model.h"
#include "strata/core/support/mutex.h"

namespace strata::emu {

/// Device memory with its lock; modules keep it alive after their Gpu.
struct SharedMemory {
    explicit SharedMemory(uint64_t capacity) : memory(capacity) {}
    Mutex mutex;
    DeviceMemory memory;
    RepeatedPages repeated;
};

/// Device addresses of the dispatch packet and the kernarg segment.
struct LaunchArea {
    uint64_t packet = 0, kernarg = 0;
};

struct Gpu::State {
    isa::Arch arch;
    const Model* model;
    std::shared_ptr<SharedMemory> shared;
    Pool pool;
    Mutex launch_mutex;
    uint64_t launch_area = 0;  ///< dispatch packet and kernarg segment of the launch that runs
    size_t launch_area_size = 0;
    std::unique_ptr<Services> services;  ///< once a kernel wanted them
    Caches caches;                       ///< as launches with LaunchConfig::warm left them

    State(isa::Arch arch_, const Model* model_);
    /// Has the host ready that the kernel will call, if it calls one.
    Result<void> offer_services(Plan& plan, const LoadedKernel& kernel, const LaunchConfig& config,
                                std::span<uint8_t> kernarg);
    Result<void> reserve_launch_area(size_t bytes);
    /// Copies the arguments of a launch to where the kernel reads them.
    Result<LaunchArea> place_arguments(const LoadedKernel& kernel, const LaunchConfig& config,
                                       std::span<const uint8_t> kernarg);
};

struct Module::State {
    isa::CodeObject object;
    std::shared_ptr<SharedMemory> shared;
    uint64_t base = 0;
    size_t size = 0;
    std::map<std::string, LoadedKernel, std::less<>> kernels;

    Result<const LoadedKernel*> kernel(std::string_view name) const;
    Result<void> place(std::string_view label);
    void set_managed() const;
    Result<void> decode();
};

}  // namespace strata::emu
