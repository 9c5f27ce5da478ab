#include "strata/providers/nvidia/driver.h"

#include <dlfcn.h>

#include <memory>

namespace strata::providers {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Result<std::unique_ptr<NvidiaDriver>> load() {
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return make_error(ErrorKind::Device, "no driver of NVIDIA is installed ({}): {}", kLibrary, dlerror());
    auto driver = std::make_unique<NvidiaDriver>();
#define CUDA(name, parameters)                                                                                        \
    driver->name = reinterpret_cast<decltype(driver->name)>(dlsym(library, #name));                                   \
    if (!driver->name)                                                                                                \
        return make_error(ErrorKind::Device, "{} has no {}: NVIDIA's driver is too old, Strata needs one of CUDA 12", \
                          kLibrary, #name);
#include "strata/providers/nvidia/driver.def"
#undef CUDA
    STRATA_TRY_VOID(driver->check("cuInit", driver->cuInit(0)));
    return driver;
}

}  // namespace

Result<void> NvidiaDriver::check(const char* call, int code) const {
    if (code == cuda::kSuccess) return {};
    const char *name = nullptr, *text = nullptr;
    (void)cuGetErrorName(code, &name), (void)cuGetErrorString(code, &text);
    const bool lost = code == cuda::kIllegalAddress || code == cuda::kLaunchFailed;
    return make_error(lost ? ErrorKind::MemoryFault : ErrorKind::Device, "{}: {} ({}){}",
                      name ? name : fmt::format("CUDA error {}", code),
                      text ? text : "an error that the driver does not name", call,
                      lost ? "\nThe device's context is lost, and all memory in it: start the program again. "
                             "`STRATA_DEVICE=emu` runs the same kernels on an emulated device, which names the "
                             "instruction and the address."
                           : "");
}

std::string NvidiaDriver::version() const {
    int version = 0;
    if (cuDriverGetVersion(&version) != cuda::kSuccess) return "CUDA";
    return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string NvidiaDriver::beyond_limits(const DeviceProperties& most, void* function,
                                        const std::array<uint32_t, 3>& grid,
                                        const std::array<uint32_t, 3>& block) const {
    for (size_t dim = 0; dim < 3; ++dim)
        if (grid[dim] > most.max_grid[dim])
            return fmt::format("the grid's size {} is {} and can be {}", dim, grid[dim], most.max_grid[dim]);
    const uint64_t asked = uint64_t{block[0]} * block[1] * block[2];
    int threads = 0;  // 0: the function does not say
    (void)cuFuncGetAttribute(&threads, cuda::function_attribute::kMaxThreads, function);
    const uint64_t can = static_cast<uint64_t>(threads > 0 ? threads : most.max_block);
    if (asked <= can) return {};
    return fmt::format("a block of {} threads, and it was compiled for at most {}", asked, can);
}

Result<const NvidiaDriver*> nvidia_driver() {
    static const Result<std::unique_ptr<NvidiaDriver>> driver = load();
    if (!driver) return driver.error();
    return driver->get();
}

}  // namespace strata::providers
