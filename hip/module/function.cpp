#include "strata/hip/api/exports.h"
#include "strata/hip/module/registration.h"

namespace strata::hip::library {
namespace {

constexpr int kVersion = 10 * 10 + 0;  // as AMD's library says, whatever the card

int lds_left(const Function& function) {
    return query(function.device).lds_per_block - static_cast<int>(function.kernel.lds);
}

FunctionAttributes attributes_of(const Function& function) {
    const isa::KernelInfo& kernel = function.kernel;
    return {kVersion,
            0,
            0,
            kernel.scratch,
            lds_left(function),
            static_cast<int>(kernel.max_block),
            static_cast<int>(kernel.vgprs),
            0,
            kVersion,
            kernel.lds};
}

/// hipFunction_attribute.
Code attribute_of(const Function& function, int attribute, int* out) {
    const FunctionAttributes all = attributes_of(function);
    switch (attribute) {
        case 0: return set(out, all.most_threads);
        case 1: return set(out, all.lds_bytes);
        case 2: return set(out, all.constant_bytes);
        case 3: return set(out, all.local_bytes);
        case 4: return set(out, all.registers);
        case 5: return set(out, all.ptx_version);
        case 6: return set(out, all.binary_version);
        case 7: return set(out, all.cache_mode);
        case 8: return set(out, all.most_dynamic_lds);
        case 9: return set(out, all.carveout);
        default: return hipErrorInvalidValue;
    }
}

/// Hints that no card of AMD's heeds, of which there are some.
Code take_hint(const void* host, int hint, int last) {
    Function* function = nullptr;
    const Code code = find_kernel(host, function);
    return code == hipSuccess && (hint < 0 || hint > last) ? hipErrorInvalidValue : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipFuncGetAttributes(void* attributes, const void* host) {
    return entry("hipFuncGetAttributes", [&] {
        if (!attributes) return hipErrorInvalidValue;
        Function* function = nullptr;
        const Code code = find_kernel(host, function);
        if (code == hipSuccess) *static_cast<FunctionAttributes*>(attributes) = attributes_of(*function);
        return code;
    });
}
int hipFuncGetAttribute(int* value, int attribute, void* function) {
    return entry("hipFuncGetAttribute", [&] {
        if (!value) return hipErrorInvalidValue;
        if (!function) return hipErrorInvalidHandle;
        const Function* const own = function_at(function);
        return own ? attribute_of(*own, attribute, value) : hipErrorInvalidDeviceFunction;
    });
}
int hipFuncSetAttribute(const void* host, int attribute, int value) {
    return entry("hipFuncSetAttribute", [&] {
        constexpr int kDynamicLds = 8, kCarveout = 9, kLast = 10;  // hipFuncAttributeMax; others are hints
        Function* function = nullptr;
        const Code code = find_kernel(host, function);
        if (code != hipSuccess) return code;
        if (attribute == kDynamicLds)
            return value < 0 || value > lds_left(*function) ? hipErrorInvalidValue : hipSuccess;
        if (attribute == kCarveout && (value < -1 || value > 100)) return hipErrorInvalidValue;
        return attribute < 0 || attribute > kLast ? hipErrorInvalidValue : hipSuccess;
    });
}
int hipFuncSetCacheConfig(const void* host, int config) {
    return entry("hipFuncSetCacheConfig", [&] { return take_hint(host, config, 3); });  // hipFuncCachePreferEqual
}
int hipFuncSetSharedMemConfig(const void* host, int config) {
    return entry("hipFuncSetSharedMemConfig", [&] { return take_hint(host, config, 2); });  // ...BankSizeEightByte
}
int hipGetFuncBySymbol(void** function, const void* host) {
    return entry("hipGetFuncBySymbol", [&] {
        Function* found = nullptr;
        const Code code = find_kernel(host, found);
        return code == hipSuccess ? set(function, static_cast<void*>(found)) : code;
    });
}
const char* hipKernelNameRef(void* function) {
    return guarded<const char*>("hipKernelNameRef", nullptr, [&] {
        const Function* const own = function_at(function);
        return own ? own->kernel.name.c_str() : nullptr;
    });
}
const char* hipKernelNameRefByPtr(const void* host, void*) {
    return guarded<const char*>("hipKernelNameRefByPtr", nullptr, [&] { return kernel_name(host); });
}
