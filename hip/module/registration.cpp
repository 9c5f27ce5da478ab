// Registrations by clang's code in a program before main() runs. They have its code objects, and the kernels and
// variables that functions and variables of the host stand for. Code is loaded to a device when it is first needed
// there.
#include "strata/hip/module/registration.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/module/bundle_p.h"

namespace strata::hip::library {
namespace {

constexpr uint32_t kMagic = 0x48495046;  // "HIPF"

/// The compiler's object: __CudaFatBinaryWrapper with HIP's magic.
struct Wrapper {
    uint32_t magic, version;
    const void* image;
    const void* unused;
};

struct OnDevice {
    std::unique_ptr<Module> module = {};
    Code code = hipSuccess;  ///< why there is no module
};
struct Binary {
    const void* image = nullptr;
    std::map<int, OnDevice> of_device = {};
};
struct Named {
    Binary* binary = nullptr;
    std::string name = {};
    std::map<int, Function*> functions = {};
};

struct Registry {
    Mutex mutex;
    std::map<void*, std::unique_ptr<Binary>> binaries;
    std::unordered_map<const void*, Named> kernels, variables;
};
Registry& registry() {
    static auto* all = new Registry;
    return *all;
}

Code module_of(Binary& binary, int device, Module*& out) {
    OnDevice& there = binary.of_device[device];
    if (!there.module && there.code == hipSuccess) there.code = load(device, binary.image, {}, there.module);
    out = there.module.get();
    return there.code;
}

void add(std::string_view call, std::unordered_map<const void*, Named>& all, void** binary, const void* host,
         const char* name) {
    (void)guarded(call, false, [&] {
        if (!binary || !name) return false;
        std::lock_guard lock(registry().mutex);
        all[host] = {reinterpret_cast<Binary*>(binary), name};
        return true;
    });
}

void forget(const Binary* binary) {
    const auto of_it = [&](const auto& entry) { return entry.second.binary == binary; };
    std::erase_if(registry().kernels, of_it);
    std::erase_if(registry().variables, of_it);
}

/// A variable that both sides see is where the code object of the first device has it, from now on.
void place_managed(void** binary, void** pointer, const void* initial, const char* name, size_t bytes) {
    if (devices().empty()) return;  // before the lock, which their choice takes
    std::lock_guard lock(registry().mutex);
    Module* module = nullptr;
    DeviceRange range;
    if (module_of(*reinterpret_cast<Binary*>(binary), devices().front(), module) != hipSuccess ||
        variable_of(*module, name, range) != hipSuccess || range.bytes < bytes)
        return;
    *pointer = reinterpret_cast<void*>(range.address);
    if (initial) std::memcpy(*pointer, initial, bytes);
}

}  // namespace

Code find_kernel(const void* host, Function*& out) {
    const int device = current();  // before the lock, which the choice of devices takes
    std::lock_guard lock(registry().mutex);
    const auto found = registry().kernels.find(host);
    if (found == registry().kernels.end()) return hipErrorInvalidDeviceFunction;
    Named& named = found->second;
    Function*& known = named.functions[device];
    if (!known) {
        Module* module = nullptr;
        const Code code = module_of(*named.binary, device, module);
        if (code != hipSuccess) return code;
        known = function_of(*module, named.name);
    }
    out = known;
    return known ? hipSuccess : hipErrorInvalidDeviceFunction;
}

Code find_variable(const void* host, DeviceRange& out) {
    const int device = current();
    std::lock_guard lock(registry().mutex);
    const auto found = registry().variables.find(host);
    if (found == registry().variables.end()) return hipErrorInvalidSymbol;
    Module* module = nullptr;
    const Code code = module_of(*found->second.binary, device, module);
    if (code != hipSuccess) return code;
    return variable_of(*module, found->second.name.c_str(), out) == hipSuccess ? hipSuccess : hipErrorInvalidSymbol;
}

const char* kernel_name(const void* host) {
    std::lock_guard lock(registry().mutex);
    const auto found = registry().kernels.find(host);
    return found == registry().kernels.end() ? nullptr : found->second.name.c_str();
}

bool is_there_code_for(int device) {
    std::vector<const void*> images;
    {
        std::lock_guard lock(registry().mutex);
        for (const auto& [handle, binary] : registry().binaries) images.push_back(binary->image);
    }
    const std::string arch = arch_with_features(device);
    return std::ranges::any_of(images, [&](const void* image) { return code_for(image, {}, arch).has_value(); });
}

void unload_registered(int device) {
    std::lock_guard lock(registry().mutex);
    for (auto& [host, named] : registry().kernels) named.functions.erase(device);
    for (auto& [handle, binary] : registry().binaries) {
        const auto there = binary->of_device.find(device);
        if (there == binary->of_device.end()) continue;
        if (there->second.module) (void)unload(std::move(there->second.module));
        binary->of_device.erase(there);
    }
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

void** __hipRegisterFatBinary(const void* data) {
    return guarded<void**>("__hipRegisterFatBinary", nullptr, [&]() -> void** {
        const auto* const wrapper = static_cast<const Wrapper*>(data);
        if (!wrapper || wrapper->magic != kMagic || wrapper->version != 1) return nullptr;
        auto binary = std::make_unique<Binary>(Binary{wrapper->image});
        void* const handle = binary.get();
        std::lock_guard lock(registry().mutex);
        registry().binaries[handle] = std::move(binary);
        prefer_devices_by(is_there_code_for);
        return static_cast<void**>(handle);
    });
}
void __hipRegisterFunction(void** binary, const void* host, char*, const char* name, unsigned, void*, void*, void*,
                           void*, int*) {
    add("__hipRegisterFunction", registry().kernels, binary, host, name);
}
void __hipRegisterVar(void** binary, void* host, char*, const char* name, int, size_t, int, int) {
    add("__hipRegisterVar", registry().variables, binary, host, name);
}
void __hipRegisterManagedVar(void** binary, void** pointer, void* initial, const char* name, size_t bytes, unsigned) {
    if (!binary) return;
    add("__hipRegisterManagedVar", registry().variables, binary, pointer, name);
    (void)entry("__hipRegisterManagedVar", [&] {
        place_managed(binary, pointer, initial, name, bytes);
        return hipSuccess;
    });
}
void __hipRegisterTexture(void** binary, void* host, char*, char* name, int, int, int) {
    add("__hipRegisterTexture", registry().variables, binary, host, name);
}
void __hipRegisterSurface(void** binary, void* host, char*, char* name, int, int) {
    add("__hipRegisterSurface", registry().variables, binary, host, name);
}
void __hipUnregisterFatBinary(void** binary) {
    if (!binary) return;
    (void)guarded("__hipUnregisterFatBinary", false, [&] {
        std::lock_guard lock(registry().mutex);
        const auto found = registry().binaries.find(binary);
        if (found == registry().binaries.end()) return false;
        forget(found->second.get());
        for (auto& [device, there] : found->second->of_device)
            if (there.module) (void)unload(std::move(there.module));
        registry().binaries.erase(found);
        return true;
    });
}
