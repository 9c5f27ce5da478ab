#include <dlfcn.h>

#include <string>

#include "strata/asm/isa/arch.h"
#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

/// HIP's major version by the file that the program was linked with: libamdhip64.so.6.
int major_version() {
    Dl_info info{};
    const std::string_view file = dladdr(reinterpret_cast<const void*>(&hipInit), &info) ? info.dli_fname : "";
    for (const char version : {'5', '6'})
        if (file.ends_with(std::string(".so.") + version)) return version - '0';
    return 7;
}

Code version(int* out) {
    if (!out) return hipErrorInvalidValue;
    *out = major_version() * 10'000'000;
    return hipSuccess;
}

/// gcnArchName: CDNA's cards have two features that code objects may ask for.
std::string arch_with_features(const std::string& arch) {
    const Result<isa::Arch> row = isa::parse_arch(arch);
    return row && is_cdna(isa::info(*row).family) ? arch + ":sramecc+:xnack-" : arch;
}

Properties properties_of(const hip::DeviceProperties& device) {
    Properties p;
    p.name = text256(device.name);
    p.gcnArchName = text256(arch_with_features(device.arch));
    p.totalGlobalMem = device.memory_bytes;
    p.sharedMemPerBlock = static_cast<size_t>(device.lds_per_block);
    p.warpSize = device.warp_size;
    p.maxThreadsPerBlock = device.max_block;
    p.maxThreadsDim.fill(device.max_block);
    for (size_t i = 0; i < 3; ++i) p.maxGridSize[i] = static_cast<int>(device.max_grid[i]);
    p.multiProcessorCount = device.units;
    return p;
}

int device_properties(void* out, int device, Layout layout) {
    return entry("hipGetDeviceProperties", [&] {
        if (!out) return hipErrorInvalidValue;
        if (device < 0 || static_cast<size_t>(device) >= devices().size()) return hipErrorInvalidDevice;
        const hip::DeviceProperties of_device =
            emulator().device_properties(devices()[static_cast<size_t>(device)]).value();
        const size_t bytes = layout == Layout::hip5 ? kPropertiesBytes5 : kPropertiesBytesR0600;
        write_properties(properties_of(of_device), layout, {static_cast<std::byte*>(out), bytes});
        return hipSuccess;
    });
}

}  // namespace

int hipInit(unsigned flags) {
    return entry("hipInit", [&] {
        if (flags != 0) return hipErrorInvalidValue;
        return devices().empty() ? hipErrorNoDevice : hipSuccess;
    });
}
int hipRuntimeGetVersion(int* out) {
    return entry("hipRuntimeGetVersion", [&] { return version(out); });
}
int hipDriverGetVersion(int* out) {
    return entry("hipDriverGetVersion", [&] { return version(out); });
}
int hipGetDeviceCount(int* count) {
    return entry("hipGetDeviceCount", [&] {
        if (!count) return hipErrorInvalidValue;
        *count = static_cast<int>(devices().size());
        return *count == 0 ? hipErrorNoDevice : hipSuccess;
    });
}
int hipSetDevice(int device) {
    return entry("hipSetDevice", [&] { return make_current(device); });
}
int hipGetDeviceProperties(void* properties, int device) { return device_properties(properties, device, Layout::hip5); }
int hipGetDevicePropertiesR0600(void* properties, int device) {
    return device_properties(properties, device, Layout::r0600);
}
int hipDeviceSynchronize() {
    return entry("hipDeviceSynchronize", [] { return hipSuccess; });  // a launch has run when it returns
}
