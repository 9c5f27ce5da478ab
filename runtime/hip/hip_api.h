#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

namespace strata::hip {

using DevicePtr = uint64_t;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct EventHandle;

struct DeviceProperties {
    std::string name;  ///< "AMD Radeon RX 7900 XTX (emulated)"
    std::string arch;  ///< "gfx1100"
    size_t memory = 0;
    int compute_units = 0, clock_mhz = 0, warp_size = 32, max_block = 1024, lds_per_block = 65536;
    std::array<uint32_t, 3> max_grid{2147483647u, 65535u, 65535u};
};

/// What a launch cost where the provider knows it without events (the emulator).
struct LaunchCost {
    double modelled_ms = 0, wall_ms = 0;
    uint64_t wave_instructions = 0;
    std::vector<emu::InstructionUse> instructions = {};  ///< with settings().emu_fidelity
};

/// The HIP entry points that Strata calls, one row an entry, named as in hip_runtime_api.h without the prefix.
/// A provider fills every row. All calls are blocking unless a stream says otherwise; errors carry HIP's name and text.
struct HipApi {
    std::string_view provider;   ///< "amd", "nvidia", "emulated"
    bool modelled_time = false;  ///< event times are modelled, not measured
    Result<int> (*device_count)();
    Result<DeviceProperties> (*device_properties)(int device);
    Result<DevicePtr> (*malloc)(int device, size_t bytes);
    Result<void> (*free)(int device, DevicePtr memory);
    Result<void> (*memcpy_to_device)(int device, DevicePtr to, const void* from, size_t bytes);
    Result<void> (*memcpy_to_host)(int device, void* to, DevicePtr from, size_t bytes);
    Result<void> (*memcpy_on_device)(int device, DevicePtr to, DevicePtr from, size_t bytes);
    Result<void> (*memset)(int device, DevicePtr to, int value, size_t bytes);
    Result<ModuleHandle*> (*module_load)(int device, std::span<const uint8_t> code_object);
    Result<void> (*module_unload)(ModuleHandle*);
    Result<FunctionHandle*> (*module_function)(ModuleHandle*, std::string_view name);  ///< lives as long as the module
    Result<StreamHandle*> (*stream_create)(int device);
    Result<void> (*stream_destroy)(StreamHandle*);
    Result<void> (*stream_synchronize)(StreamHandle*);
    /// `arguments`: the explicit kernarg bytes, laid out as the kernel's metadata says. `cost` may be nullptr.
    Result<void> (*module_launch_kernel)(FunctionHandle*, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                                         uint32_t dynamic_lds, StreamHandle*, std::span<const uint8_t> arguments,
                                         LaunchCost* cost);
    Result<EventHandle*> (*event_create)(int device);
    Result<void> (*event_destroy)(EventHandle*);
    Result<void> (*event_record)(EventHandle*, StreamHandle*);
    Result<double> (*event_elapsed_ms)(EventHandle* start, EventHandle* stop);
    /// Host address of device memory where both are one (the emulator), else nullptr.
    void* (*host_view)(int device, DevicePtr memory);
};

/// The emulated GPUs: device i is archs()[i]; STRATA_EMU_MODEL picks the card whose time is modelled.
const HipApi& emulated();
}  // namespace strata::hip
