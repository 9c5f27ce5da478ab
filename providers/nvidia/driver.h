#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "strata/core/support/result.h"
#include "strata/providers/hip_api.h"

namespace strata::providers {

/// NVIDIA's driver: the calls of driver.def, found in libcuda.so.1 when first asked for.
struct NvidiaDriver {
#define CUDA(name, parameters) int(*name) parameters = nullptr;
#include "strata/providers/nvidia/driver.def"
#undef CUDA

    /// Nothing where `code` is CUDA_SUCCESS, else an Error (Device) of CUDA's name and words for it, after what was
    /// called.
    Result<void> check(const char* call, int code) const;
    std::string version() const;  ///< "CUDA 13.0"
    /// Why a launch is refused, where it asks for more than a device or the function has; empty: for another reason.
    std::string beyond_limits(const DeviceProperties&, void* function, const std::array<uint32_t, 3>& grid,
                              const std::array<uint32_t, 3>& block) const;
};

/// Values of cuda.h that the provider passes or is given (CUDA Driver API, "Data types used by CUDA driver").
namespace cuda {
constexpr int kSuccess = 0, kOutOfMemory = 2, kNotFound = 500, kNotReady = 600, kNoDevice = 100, kIllegalAddress = 700,
              kLaunchFailed = 719;
namespace device_attribute {
constexpr int kMaxBlock = 1, kMaxGridX = 5, kMaxShared = 8, kWarpSize = 10, kUnits = 16, kMajor = 75, kMinor = 76,
              kMaxSharedAsked = 97, kMemoryPools = 115;
}
namespace function_attribute {
constexpr int kMaxThreads = 0, kShared = 1, kMaxDynamicShared = 8;
}
namespace pool_attribute {
constexpr int kKeep = 4, kReserved = 5, kUsed = 7;
}
/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
    void* function;
    std::array<uint32_t, 3> grid, block;
    uint32_t shared;
    void **parameters, **extra;
    void *kernel = nullptr, *context = nullptr;
};
inline void* const kEndOfExtra = nullptr;
inline void* const kArgumentBuffer = reinterpret_cast<void*>(1);
inline void* const kArgumentBytes = reinterpret_cast<void*>(2);
}  // namespace cuda

/// The driver of this machine, set up; the same at every call. Error (Device): there is no library, it lacks a call, or
/// it has no device for us, in its own words.
Result<const NvidiaDriver*> nvidia_driver();

}  // namespace strata::providers
