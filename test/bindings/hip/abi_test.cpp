// The signatures of exports.def, and the structs of its calls, against the headers of HIP 5.2.
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#if __has_include(<hip/hip_runtime_api.h>)
#include <hip/hip_runtime_api.h>

#include "../../runtime/hip/same_call.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

struct Dim3 {
    unsigned x, y, z;
};
struct Extent {
    size_t width, height, depth;
};
struct PitchedPointer {
    void* memory;
    size_t pitch, width, height;
};
struct ChannelFormat {
    int x, y, z, w, kind;
};
using HostFunction = void (*)(void*);
using StreamCallback = void (*)(void*, int, void*);
static_assert(sizeof(Dim3) == sizeof(dim3) && sizeof(Extent) == sizeof(hipExtent));
static_assert(sizeof(PitchedPointer) == sizeof(hipPitchedPtr) && sizeof(ChannelFormat) == sizeof(hipChannelFormatDesc));

// ABSENT_name, LATER_version: not in this header. What compilers call and what hip_ext.h has is elsewhere.
#define PROBE ~, 1
#define SECOND(a, b, ...) b
#define IS(...) SECOND(__VA_ARGS__, 0, 0)
#define ABSENT___hipRegisterFatBinary PROBE
#define ABSENT___hipRegisterFunction PROBE
#define ABSENT___hipRegisterVar PROBE
#define ABSENT___hipRegisterManagedVar PROBE
#define ABSENT___hipRegisterTexture PROBE
#define ABSENT___hipRegisterSurface PROBE
#define ABSENT___hipUnregisterFatBinary PROBE
#define ABSENT_hipGetDevicePropertiesR0000 PROBE
#define ABSENT_hipExtModuleLaunchKernel PROBE
#define ABSENT_hipStreamGetDevice PROBE
#define ABSENT_hipCreateChannelDesc PROBE
// Of the header, compiled for streams of threads, under the name without _spt.
#define ABSENT_hipLaunchKernel_spt PROBE
#define ABSENT_hipLaunchCooperativeKernel_spt PROBE
#define ABSENT_hipMemcpy_spt PROBE
#define ABSENT_hipMemcpyAsync_spt PROBE
#define ABSENT_hipMemcpyToSymbol_spt PROBE
#define ABSENT_hipMemcpyFromSymbol_spt PROBE
#define ABSENT_hipMemset_spt PROBE
#define ABSENT_hipStreamSynchronize_spt PROBE
#define ABSENT_hipStreamQuery_spt PROBE
#define ABSENT_hipStreamWaitEvent_spt PROBE
#define ABSENT_hipEventRecord_spt PROBE
#define LATER_5_3 PROBE
#define LATER_5_5 PROBE
#define LATER_5_6 PROBE
#define LATER_6_0 PROBE
#define LATER_6_1 PROBE
#define LATER_6_2 PROBE
#define LATER_6_4 PROBE
#define LATER_6_5 PROBE
#define LATER_7_1 PROBE
#define LATER_7_2 PROBE
// Of calls that the header has templates of beside, the type is said here: the header has one like it.
#define OVERLOADED_hipMallocAsync PROBE
using Type_hipMallocAsync = hipError_t (*)(void**, size_t, hipStream_t);
#define OVERLOADED_hipMallocFromPoolAsync PROBE
using Type_hipMallocFromPoolAsync = hipError_t (*)(void**, size_t, hipMemPool_t, hipStream_t);
#define OVERLOADED_hipGetSymbolAddress PROBE
using Type_hipGetSymbolAddress = hipError_t (*)(void**, const void*);
#define OVERLOADED_hipGetSymbolSize PROBE
using Type_hipGetSymbolSize = hipError_t (*)(size_t*, const void*);
#define OVERLOADED_hipMemcpyToSymbol PROBE
using Type_hipMemcpyToSymbol = hipError_t (*)(const void*, const void*, size_t, size_t, hipMemcpyKind);
#define OVERLOADED_hipMemcpyToSymbolAsync PROBE
using Type_hipMemcpyToSymbolAsync = hipError_t (*)(const void*, const void*, size_t, size_t, hipMemcpyKind,
                                                   hipStream_t);
#define OVERLOADED_hipMemcpyFromSymbol PROBE
using Type_hipMemcpyFromSymbol = hipError_t (*)(void*, const void*, size_t, size_t, hipMemcpyKind);
#define OVERLOADED_hipMemcpyFromSymbolAsync PROBE
using Type_hipMemcpyFromSymbolAsync = hipError_t (*)(void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t);
#define OVERLOADED_hipLaunchCooperativeKernel PROBE
using Type_hipLaunchCooperativeKernel = hipError_t (*)(const void*, dim3, dim3, void**, unsigned, hipStream_t);
#define OVERLOADED_hipOccupancyMaxActiveBlocksPerMultiprocessor PROBE
using Type_hipOccupancyMaxActiveBlocksPerMultiprocessor = hipError_t (*)(int*, const void*, int, size_t);
#define OVERLOADED_hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags PROBE
using Type_hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = hipError_t (*)(int*, const void*, int, size_t,
                                                                                  unsigned);
#define OVERLOADED_hipOccupancyMaxPotentialBlockSize PROBE
using Type_hipOccupancyMaxPotentialBlockSize = hipError_t (*)(int*, int*, const void*, size_t, int);
#define CHECK_110(...)
#define CHECK_100(...)
#define CHECK_010(...)
#define CHECK_001(result, name, parameters)                             \
    static_assert(static_cast<Type_##name>(&::name) != nullptr, #name); \
    static_assert(strata::hip::abi::kSameCall<result(*) parameters, Type_##name>, #name);
#define CHECK_000(result, name, parameters) \
    static_assert(strata::hip::abi::kSameCall<result(*) parameters, decltype(&::name)>, #name);
#define CHECK_IF(a, b, c) CHECK_##a##b##c
#define CHECK(a, b, c) CHECK_IF(a, b, c)
#define EXPORT(version, area, result, name, parameters) \
    CHECK(IS(ABSENT_##name), IS(LATER_##version), IS(OVERLOADED_##name))(result, name, parameters)
#include "strata/bindings/hip/exports.def"
#undef EXPORT

#define ATTRIBUTE(name, code, value) static_assert(hipDeviceAttribute##name == code);
#include "strata/bindings/hip/attributes.def"
#undef ATTRIBUTE

}  // namespace
#endif
