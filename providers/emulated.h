#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/emu/profile.h"
#include "strata/providers/hip_api.h"
#include "strata/providers/report.h"

namespace strata::providers {

/// Details of a launch on an emulated device.
struct LaunchDetails {
    std::vector<emu::InstructionUse> instructions;  ///< with settings().emu_fidelity: of the kernel, how often each ran
    std::vector<CheckFinding> findings;             ///< with settings().check
};

/// Devices of one arch that the provider tells apart, each with memory of its own. The first one is what device_count()
/// counts; who wants more names them by this.
inline constexpr int kMostOfOneArch = 16;
int emulated_device(int device, int copy);

/// Memory that share() can show to other processes; the file that it is of from then on, which is closed when it is
/// freed.
Result<DevicePtr> allocate_pages(int device, size_t bytes);
Result<int> share(int device, DevicePtr memory);

/// Sets the access of a device's kernels to addresses that the program has mapped, until unmap_host. `label`
/// names them in messages.
Result<void> permit(int device, void* memory, size_t bytes, std::string_view label, bool readable, bool writable);

}  // namespace strata::providers
