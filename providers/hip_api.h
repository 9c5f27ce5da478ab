#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"

namespace strata::emu {
struct LaunchProfile;
}

namespace strata::providers {

struct LaunchDetails;
using DevicePtr = uint64_t;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct EventHandle;
struct GraphHandle;

/// hipMemcpyKind.
enum class CopyKind : int { to_device = 1, to_host = 2, on_device = 3 };

/// Every field is what the device says of itself.
struct DeviceProperties {
    std::string name;  ///< "7900xtx (emulated)"
    std::string arch;  ///< "gfx1100"
    int warp_size, max_block, lds_per_block;
    std::array<uint32_t, 3> max_grid;
    int units;            ///< compute units, multiprocessors
    size_t memory_bytes;  ///< all that it has
    std::string driver;   ///< "HIP 6.3.42131"; empty for an emulated device
    /// Facts of the emulator's model alone; 0 where a driver is not asked.
    int clock_khz = 0, waves_per_unit = 0;
    size_t l2_bytes = 0;
    double memory_gbs = 0;                     ///< 10^9 bytes a second
    double launch_us = 0, next_launch_us = 0;  ///< what a launch adds to its work: from an empty queue, after another
};

/// A variable of a module.
struct DeviceRange {
    DevicePtr address = 0;
    size_t bytes = 0;
};

/// Requests of a launch to an emulated device besides running. A driver ignores it.
struct LaunchRequest {
    bool last_waits = false;   ///< the workgroup that starts last starts when all others are done
    bool sparse = false;       ///< of settings().emu_sampled the first workgroup, the last and one between run
    bool warm = false;         ///< the time is that with caches as earlier launches that ask for it left them
    bool in_place = false;     ///< an output may lie over an input, whose elements the kernel reads before
    bool shows_output = true;  ///< the provider shows what is printed
    /// Memory that the kernel may only read, and parts of it that it may write too. Any other write there faults.
    std::vector<DevicePtr> read_only = {}, written = {};
};

/// A provider's report of a launch beyond its time. A driver tells nothing more.
struct LaunchReport {
    uint64_t wave_instructions = 0;
    std::string output;  ///< what the kernel printed
    /// A wave ran as many instructions as settings().emu_budget allows, which is no fault of the launch.
    bool over_budget = false;
    double modelled_ms = 0;                                  ///< if time is modelled
    std::shared_ptr<const LaunchDetails> details = {};       ///< of an emulated device: emulated.h
    std::shared_ptr<const emu::LaunchProfile> profile = {};  ///< the same, with settings().profiler
};

/// The HIP calls of hip_api.def, and what no call of HIP says. A provider fills every row.
struct HipApi {
    std::string_view provider;   ///< "amd", "nvidia", "emulated", "interpreted"
    bool modelled_time = false;  ///< event times are modelled, not measured
    bool interprets = false;     ///< runtime interprets graphs on its devices; no code is loaded
#define HIP(entry, result, name, parameters) Result<result>(*name) parameters = nullptr;
#include "strata/providers/hip_api.def"
#undef HIP
    /// The part after the provider's prefix in a device's name: "gfx1100" of "emu:gfx1100", "1" of "amd:1".
    std::string (*device_label)(int device) = nullptr;
    /// Host address of device memory where both are one (the emulator), else nullptr.
    void* (*host_view)(int device, DevicePtr memory) = nullptr;
    /// A stream that somebody else has, by its driver's handle, and that handle; destroying ours leaves theirs.
    Result<StreamHandle*> (*stream_over)(int device, uint64_t raw) = nullptr;
    uint64_t (*stream_raw)(StreamHandle*) = nullptr;
    /// True if listing devices is cheap, or if there may be one. The default device can then be chosen without loading
    /// a driver that finds none. nullptr: listing is cheap.
    bool (*may_have_devices)() = nullptr;
    /// Memory that holds a pattern over and over, and takes less than its size; nullptr: there is none such.
    Result<DevicePtr> (*malloc_repeated)(int device, size_t bytes, std::span<const uint8_t> pattern) = nullptr;
    /// Calls of the emulator. map_host: memory of the host that kernels use at its own address; a second call changes
    /// whether they may write. Also the workgroups of a kernel that a unit holds.
    Result<void> (*map_host)(int device, void* memory, size_t bytes, bool writable) = nullptr;
    Result<void> (*unmap_host)(int device, void* memory) = nullptr;
    Result<int> (*groups_per_unit)(FunctionHandle*, uint32_t block, uint32_t dynamic_lds) = nullptr;
    /// Bytes of freed memory that the provider keeps for the next request.
    size_t (*pooled_bytes)(int device) = nullptr;
};

/// HIP's names of the calls, for looking them up in a driver's library.
std::span<const char* const> entry_points();

/// Error: Device, with the first row that the provider leaves empty.
Result<void> check_complete(const HipApi& api);

}  // namespace strata::providers
