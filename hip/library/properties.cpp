#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "strata/hip/api/exports.h"
#include "strata/hip/memory/array.h"
#include "strata/hip/module/module.h"

namespace strata::hip::library {
namespace {

// hipDeviceArch_t: atomics of 32 and 64 bits, doubles, votes, ballots, shuffles, fences of the system, grids of three
// dimensions; bits as AMD's library sets them.
constexpr unsigned kArchFeatures = 0x7ff | 1u << 12 | 1u << 15;
constexpr int kBusBits = 1024;  // the clock of memory follows from it and the bandwidth
constexpr int kBusId = 1;       // of the first device; each has a bus of its own

/// "gfx942" is 9.4, "gfx1100" 11.0, "gfx90a" 9.0.
int arch_major(const std::string& arch) { return std::atoi(arch.substr(3, arch.size() - 5).c_str()); }
int arch_minor(const std::string& arch) {
    return static_cast<int>(std::strtol(arch.substr(arch.size() - 2, 1).c_str(), nullptr, 16));
}

Properties properties_of(int number) {
    const int device = *device_at(number);
    const DeviceProperties& is = query(device);
    Properties p;
    p.name = text256(is.name);
    p.gcnArchName = text256(arch_with_features(device));
    std::memcpy(p.uuid.data(), fmt::format("emu-{:012}", number).data(), p.uuid.size());
    p.totalGlobalMem = is.memory_bytes;
    p.sharedMemPerBlock = p.maxSharedMemoryPerMultiProcessor = p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin =
        static_cast<size_t>(is.lds_per_block);
    p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.warpSize = is.warp_size;
    p.maxThreadsPerBlock = is.max_block;
    p.maxThreadsDim.fill(is.max_block);
    for (size_t i = 0; i < 3; ++i) p.maxGridSize[i] = static_cast<int>(is.max_grid[i]);
    p.clockRate = is.clock_khz;
    p.memoryBusWidth = kBusBits;
    p.memoryClockRate = static_cast<int>(is.memory_gbs * 1e6 / (kBusBits / 8.0) / 2);
    p.clockInstructionRate = 100'000;
    p.totalConstMem = 2147483647;
    p.major = arch_major(is.arch);
    p.minor = arch_minor(is.arch);
    p.arch = kArchFeatures;
    p.multiProcessorCount = is.units;
    p.l2CacheSize = static_cast<int>(is.l2_bytes);
    p.maxThreadsPerMultiProcessor = is.waves_per_unit * is.warp_size;
    p.maxBlocksPerMultiProcessor = is.waves_per_unit;
    p.pciBusID = kBusId + number;
    p.maxTexture1DLinear = 1 << 27;
    p.maxTexture1D = 16384;
    p.maxTexture2D = {16384, 16384};
    p.maxTexture3D = {16384, 16384, 8192};
    p.memPitch = 2147483647;
    p.textureAlignment = p.texturePitchAlignment = 256;
    p.concurrentKernels = p.canMapHostMemory = p.cooperativeLaunch = p.isLargeBar = p.managedMemory = 1;
    p.directManagedMemAccessFromHost = p.concurrentManagedAccess = 1;
    p.asyncEngineCount = p.unifiedAddressing = p.streamPrioritiesSupported = p.hostNativeAtomicSupported = 1;
    p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = p.memoryPoolsSupported = 1;
    return p;
}

int write_device(void* out, int device, Layout layout) {
    return entry("hipGetDeviceProperties", [&] {
        if (!out) return hipErrorInvalidValue;
        if (!device_at(device)) return hipErrorInvalidDevice;
        const size_t bytes = layout == Layout::hip5 ? kPropertiesBytes5 : kPropertiesBytesR0600;
        write_properties(properties_of(device), layout, {static_cast<std::byte*>(out), bytes});
        return hipSuccess;
    });
}

/// The properties that a program may ask for: the fields that AMD's library compares, which are not asked for where
/// they are 0.
std::array<uint64_t, 14> asked_of(const Properties& p) {
    const auto wide = [](auto value) { return static_cast<uint64_t>(value); };
    return {wide(p.major),
            wide(p.minor),
            wide(p.totalGlobalMem),
            wide(p.sharedMemPerBlock),
            wide(p.maxThreadsPerBlock),
            wide(p.totalConstMem),
            wide(p.multiProcessorCount),
            wide(p.maxThreadsPerMultiProcessor),
            wide(p.memoryClockRate),
            wide(p.memoryBusWidth),
            wide(p.l2CacheSize),
            wide(p.regsPerBlock),
            wide(p.maxSharedMemoryPerMultiProcessor),
            wide(p.warpSize)};
}

/// The first device that has as much of everything as is asked for, else the first of all.
int choose_device(int* out, const void* properties, Layout layout) {
    return entry("hipChooseDevice", [&] {
        if (!out || !properties) return hipErrorInvalidValue;
        const size_t bytes = layout == Layout::hip5 ? kPropertiesBytes5 : kPropertiesBytesR0600;
        const auto asked = asked_of(read_properties(layout, {static_cast<const std::byte*>(properties), bytes}));
        for (int device = 0; device_at(device); ++device)
            if (std::ranges::equal(asked_of(properties_of(device)), asked, std::greater_equal{}))
                return set(out, device);
        return set(out, 0);
    });
}

/// hipDeviceAttribute_t's codes that are known, by their ends.
bool is_attribute(int code) { return (code >= 0 && code <= 91) || (code >= 10000 && code <= 10020); }

Code attribute_of(int number, int attribute, int* out) {
    const Properties p = properties_of(number);
    switch (attribute) {
#define ATTRIBUTE(name, code, value) \
    case code: return set(out, value);
#define ATTRIBUTE_5_3(name, code, value) ATTRIBUTE(name, code, value)
#include "strata/hip/library/attributes.def"
#undef ATTRIBUTE_5_3
#undef ATTRIBUTE
        default: return is_attribute(attribute) ? set(out, 0) : hipErrorInvalidValue;
    }
}

/// Calls ask(p) with what is known of a device.
template <class F>
int about(std::string_view call, int device, F&& ask) {
    return entry(call, [&] { return device_at(device) ? ask(properties_of(device)) : hipErrorInvalidDevice; });
}

Code copy_text(std::string_view text, char* out, int bytes) {
    if (!out || bytes <= 0) return hipErrorInvalidValue;
    out[text.copy(out, static_cast<size_t>(bytes) - 1)] = 0;
    return hipSuccess;
}

std::string bus_id(const Properties& p) {
    return fmt::format("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGetDeviceProperties(void* properties, int device) { return write_device(properties, device, Layout::hip5); }
int hipGetDevicePropertiesR0000(void* properties, int device) { return write_device(properties, device, Layout::hip5); }
int hipGetDevicePropertiesR0600(void* properties, int device) {
    return write_device(properties, device, Layout::r0600);
}
int hipChooseDevice(int* device, const void* properties) { return choose_device(device, properties, Layout::hip5); }
int hipChooseDeviceR0000(int* device, const void* properties) {
    return choose_device(device, properties, Layout::hip5);
}
int hipChooseDeviceR0600(int* device, const void* properties) {
    return choose_device(device, properties, Layout::r0600);
}
int hipDeviceGetAttribute(int* value, int attribute, int device) {
    return entry("hipDeviceGetAttribute", [&] {
        if (!value) return hipErrorInvalidValue;
        return device_at(device) ? attribute_of(device, attribute, value) : hipErrorInvalidDevice;
    });
}
int hipDeviceGetName(char* name, int bytes, int device) {
    return about("hipDeviceGetName", device,
                 [&](const Properties& p) { return copy_text(text_of(p.name), name, bytes); });
}
int hipDeviceGetUuid(void* uuid, int device) {
    return about("hipDeviceGetUuid", device,
                 [&](const Properties& p) { return set(static_cast<Bytes16*>(uuid), p.uuid); });
}
int hipDeviceTotalMem(size_t* bytes, int device) {
    return about("hipDeviceTotalMem", device, [&](const Properties& p) { return set(bytes, p.totalGlobalMem); });
}
int hipDeviceComputeCapability(int* major, int* minor, int device) {
    return about("hipDeviceComputeCapability", device, [&](const Properties& p) {
        if (!major || !minor) return hipErrorInvalidValue;
        *major = p.major;
        *minor = p.minor;
        return hipSuccess;
    });
}
int hipDeviceGetPCIBusId(char* id, int bytes, int device) {
    return about("hipDeviceGetPCIBusId", device, [&](const Properties& p) {
        const std::string text = bus_id(p);
        const Code code = copy_text(text, id, bytes);
        return code == hipSuccess && static_cast<size_t>(bytes) <= text.size() ? hipErrorInvalidValue : code;
    });
}
int hipDeviceGetByPCIBusId(int* device, const char* id) {
    return entry("hipDeviceGetByPCIBusId", [&] {
        if (!device || !id) return hipErrorInvalidValue;
        for (int i = 0; device_at(i); ++i)
            if (bus_id(properties_of(i)) == id) return set(device, i);
        return hipErrorInvalidValue;
    });
}
