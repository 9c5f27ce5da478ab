#include "strata/providers/nvidia/gpu.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <vector>

namespace strata::providers {
namespace {

Result<int> attribute(const NvidiaDriver& driver, int device, int which) {
    int value = 0;
    STRATA_TRY_VOID(driver.check("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(&value, which, device)));
    return value;
}

Result<DeviceProperties> read_properties(const NvidiaDriver& driver, int device) {
    namespace is = cuda::device_attribute;
    DeviceProperties p;
    char name[256] = {};
    STRATA_TRY_VOID(driver.check("cuDeviceGetName", driver.cuDeviceGetName(name, sizeof name, device)));
    STRATA_TRY(const int major, attribute(driver, device, is::kMajor));
    STRATA_TRY(const int minor, attribute(driver, device, is::kMinor));
    p.name = name;
    p.arch = fmt::format("sm_{}{}", major, minor);
    STRATA_TRY(p.warp_size, attribute(driver, device, is::kWarpSize));
    STRATA_TRY(p.max_block, attribute(driver, device, is::kMaxBlock));
    STRATA_TRY(p.lds_per_block, attribute(driver, device, is::kMaxShared));
    for (int dim = 0; dim < 3; ++dim) {
        STRATA_TRY(const int most, attribute(driver, device, is::kMaxGridX + dim));
        p.max_grid[static_cast<size_t>(dim)] = static_cast<uint32_t>(most);
    }
    STRATA_TRY(p.units, attribute(driver, device, is::kUnits));
    STRATA_TRY_VOID(driver.check("cuDeviceTotalMem", driver.cuDeviceTotalMem_v2(&p.memory_bytes, device)));
    p.driver = driver.version();
    return p;
}

Result<std::unique_ptr<Gpu>> open(const NvidiaDriver& driver, int ordinal) {
    auto gpu = std::make_unique<Gpu>();
    STRATA_TRY_VOID(driver.check("cuDeviceGet", driver.cuDeviceGet(&gpu->device, ordinal)));
    STRATA_TRY(gpu->properties, read_properties(driver, gpu->device));
    STRATA_TRY(gpu->shared_asked_most, attribute(driver, gpu->device, cuda::device_attribute::kMaxSharedAsked));
    STRATA_TRY(const int pools, attribute(driver, gpu->device, cuda::device_attribute::kMemoryPools));
    if (!pools)
        return make_error(ErrorKind::Device,
                          "{} has no memory pools (CUDA_ERROR_NOT_SUPPORTED), which Strata allocates from",
                          gpu->properties.name);
    STRATA_TRY_VOID(
        driver.check("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device)));
    STRATA_TRY_VOID(driver.check("cuCtxSetCurrent", driver.cuCtxSetCurrent(gpu->context)));
    STRATA_TRY_VOID(
        driver.check("cuDeviceGetDefaultMemPool", driver.cuDeviceGetDefaultMemPool(&gpu->pool, gpu->device)));
    uint64_t keep = ~uint64_t{0};  // what is freed stays until somebody runs out of memory
    STRATA_TRY_VOID(driver.check("cuMemPoolSetAttribute",
                                 driver.cuMemPoolSetAttribute(gpu->pool, cuda::pool_attribute::kKeep, &keep)));
    STRATA_TRY_VOID(open_readback(driver, gpu->readback));
    return gpu;
}

}  // namespace

Result<Place> place(int device) {
    static Mutex mutex;
    static auto* const gpus = new std::vector<std::unique_ptr<Gpu>>();  // outlives what is freed at the end
    STRATA_TRY(const NvidiaDriver* driver, nvidia_driver());
    Gpu* gpu = nullptr;
    {
        std::lock_guard lock(mutex);
        const auto at = static_cast<size_t>(device);
        if (device < 0)
            return make_error(ErrorKind::Device, "CUDA_ERROR_INVALID_DEVICE: there is no device {}", device);
        if (at >= gpus->size()) gpus->resize(at + 1);
        if (!(*gpus)[at]) {
            STRATA_TRY((*gpus)[at], open(*driver, device));
        }
        gpu = (*gpus)[at].get();
    }
    STRATA_TRY_VOID(driver->check("cuCtxSetCurrent", driver->cuCtxSetCurrent(gpu->context)));
    return Place{driver, gpu};
}

}  // namespace strata::providers
