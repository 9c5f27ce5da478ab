#include "strata/runtime/hip/nvidia_driver.h"

#include <dlfcn.h>

#include <memory>

namespace strata::hip {
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
#include "strata/runtime/hip/nvidia_driver.def"
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

Result<const NvidiaDriver*> nvidia_driver() {
    static const Result<std::unique_ptr<NvidiaDriver>> driver = load();
    if (!driver) return driver.error();
    return driver->get();
}

}  // namespace strata::hip
