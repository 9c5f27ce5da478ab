// The signatures of exports.def, and the structs of its calls, against the headers of HIP 5.2.
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#if __has_include(<hip/hip_runtime_api.h>)
#include <hip/hip_runtime_api.h>

#include "../../providers/amd/same_call.h"
#include "strata/hip/api/structs.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

// Ours by their sizes and the places of their members; hipExtent and hipPitchedPtr are named so in the header.
static_assert(sizeof(Dim3) == sizeof(dim3) && offsetof(Dim3, z) == offsetof(dim3, z));
static_assert(sizeof(Extent) == sizeof(hipExtent) && offsetof(Extent, depth) == offsetof(hipExtent, depth));
static_assert(sizeof(PitchedPointer) == sizeof(hipPitchedPtr) &&
              offsetof(PitchedPointer, pitch) == offsetof(hipPitchedPtr, pitch) &&
              offsetof(PitchedPointer, width) == offsetof(hipPitchedPtr, xsize) &&
              offsetof(PitchedPointer, height) == offsetof(hipPitchedPtr, ysize));
static_assert(sizeof(ChannelFormat) == sizeof(hipChannelFormatDesc) &&
              offsetof(ChannelFormat, kind) == offsetof(hipChannelFormatDesc, f));
using namespace strata::hip::library;
static_assert(sizeof(KernelParameters) == sizeof(hipKernelNodeParams) &&
              offsetof(KernelParameters, extra) == offsetof(hipKernelNodeParams, extra) &&
              offsetof(KernelParameters, function) == offsetof(hipKernelNodeParams, func) &&
              offsetof(KernelParameters, grid) == offsetof(hipKernelNodeParams, gridDim) &&
              offsetof(KernelParameters, parameters) == offsetof(hipKernelNodeParams, kernelParams) &&
              offsetof(KernelParameters, lds) == offsetof(hipKernelNodeParams, sharedMemBytes));
static_assert(sizeof(FillParameters) == sizeof(hipMemsetParams) &&
              offsetof(FillParameters, element) == offsetof(hipMemsetParams, elementSize) &&
              offsetof(FillParameters, height) == offsetof(hipMemsetParams, height) &&
              offsetof(FillParameters, pitch) == offsetof(hipMemsetParams, pitch) &&
              offsetof(FillParameters, value) == offsetof(hipMemsetParams, value) &&
              offsetof(FillParameters, width) == offsetof(hipMemsetParams, width));
static_assert(sizeof(HostParameters) == sizeof(hipHostNodeParams) &&
              offsetof(HostParameters, data) == offsetof(hipHostNodeParams, userData));
static_assert(sizeof(BoxParameters) == sizeof(hipMemcpy3DParms) &&
              offsetof(BoxParameters, from_at) == offsetof(hipMemcpy3DParms, srcPos) &&
              offsetof(BoxParameters, from) == offsetof(hipMemcpy3DParms, srcPtr) &&
              offsetof(BoxParameters, to_array) == offsetof(hipMemcpy3DParms, dstArray) &&
              offsetof(BoxParameters, to) == offsetof(hipMemcpy3DParms, dstPtr) &&
              offsetof(BoxParameters, extent) == offsetof(hipMemcpy3DParms, extent) &&
              offsetof(BoxParameters, kind) == offsetof(hipMemcpy3DParms, kind));
static_assert(sizeof(RowsParameters) == sizeof(hip_Memcpy2D) &&
              offsetof(RowsParameters, from_host) == offsetof(hip_Memcpy2D, srcHost) &&
              offsetof(RowsParameters, from_pitch) == offsetof(hip_Memcpy2D, srcPitch) &&
              offsetof(RowsParameters, to_type) == offsetof(hip_Memcpy2D, dstMemoryType) &&
              offsetof(RowsParameters, to_device) == offsetof(hip_Memcpy2D, dstDevice) &&
              offsetof(RowsParameters, height) == offsetof(hip_Memcpy2D, Height));
static_assert(sizeof(FunctionAttributes) == sizeof(hipFuncAttributes) &&
              offsetof(FunctionAttributes, constant_bytes) == offsetof(hipFuncAttributes, constSizeBytes) &&
              offsetof(FunctionAttributes, most_dynamic_lds) ==
                  offsetof(hipFuncAttributes, maxDynamicSharedSizeBytes) &&
              offsetof(FunctionAttributes, registers) == offsetof(hipFuncAttributes, numRegs) &&
              offsetof(FunctionAttributes, lds_bytes) == offsetof(hipFuncAttributes, sharedSizeBytes));
static_assert(sizeof(PointerAttributes) == sizeof(hipPointerAttribute_t) &&
              offsetof(PointerAttributes, on_device) == offsetof(hipPointerAttribute_t, devicePointer) &&
              offsetof(PointerAttributes, on_host) == offsetof(hipPointerAttribute_t, hostPointer) &&
              offsetof(PointerAttributes, managed) == offsetof(hipPointerAttribute_t, isManaged) &&
              offsetof(PointerAttributes, flags) == offsetof(hipPointerAttribute_t, allocationFlags));
static_assert(sizeof(AccessDescription) == sizeof(hipMemAccessDesc) &&
              offsetof(AccessDescription, location.device) == offsetof(hipMemAccessDesc, location.id) &&
              offsetof(AccessDescription, access) == offsetof(hipMemAccessDesc, flags));
static_assert(sizeof(AllocationProperties52) == sizeof(hipMemAllocationProp) &&
              offsetof(AllocationProperties52, location) == offsetof(hipMemAllocationProp, location) &&
              offsetof(AllocationProperties52, handles) == offsetof(hipMemAllocationProp, requestedHandleType) &&
              offsetof(AllocationProperties52, kind) == offsetof(hipMemAllocationProp, type) &&
              offsetof(AllocationProperties52, usage) == offsetof(hipMemAllocationProp, usage) &&
              sizeof(AllocationProperties) == sizeof(AllocationProperties52));
static_assert(sizeof(DriverBoxParameters<unsigned>) == sizeof(HIP_MEMCPY3D) &&
              offsetof(DriverBoxParameters<unsigned>, from_host) == offsetof(HIP_MEMCPY3D, srcHost) &&
              offsetof(DriverBoxParameters<unsigned>, from_pitch) == offsetof(HIP_MEMCPY3D, srcPitch) &&
              offsetof(DriverBoxParameters<unsigned>, to_type) == offsetof(HIP_MEMCPY3D, dstMemoryType) &&
              offsetof(DriverBoxParameters<unsigned>, to_array) == offsetof(HIP_MEMCPY3D, dstArray) &&
              offsetof(DriverBoxParameters<unsigned>, width) == offsetof(HIP_MEMCPY3D, WidthInBytes));
static_assert(sizeof(Array) == sizeof(hipArray) && offsetof(Array, channels) == offsetof(hipArray, desc) &&
              offsetof(Array, width) == offsetof(hipArray, width) &&
              offsetof(Array, format) == offsetof(hipArray, Format) &&
              offsetof(Array, count) == offsetof(hipArray, NumChannels));
static_assert(sizeof(ArrayDescriptor) == sizeof(HIP_ARRAY_DESCRIPTOR) &&
              offsetof(ArrayDescriptor, format) == offsetof(HIP_ARRAY_DESCRIPTOR, Format));
static_assert(sizeof(Array3dDescriptor) == sizeof(HIP_ARRAY3D_DESCRIPTOR) &&
              offsetof(Array3dDescriptor, format) == offsetof(HIP_ARRAY3D_DESCRIPTOR, Format) &&
              offsetof(Array3dDescriptor, flags) == offsetof(HIP_ARRAY3D_DESCRIPTOR, Flags));
static_assert(sizeof(ResourceDescription) == sizeof(hipResourceDesc) &&
              offsetof(ResourceDescription, linear.bytes) == offsetof(hipResourceDesc, res.linear.sizeInBytes) &&
              offsetof(ResourceDescription, rows.channels) == offsetof(hipResourceDesc, res.pitch2D.desc) &&
              offsetof(ResourceDescription, rows.pitch) == offsetof(hipResourceDesc, res.pitch2D.pitchInBytes));
static_assert(sizeof(DriverResourceDescription) == sizeof(HIP_RESOURCE_DESC) &&
              offsetof(DriverResourceDescription, linear.bytes) ==
                  offsetof(HIP_RESOURCE_DESC, res.linear.sizeInBytes) &&
              offsetof(DriverResourceDescription, rows.pitch) == offsetof(HIP_RESOURCE_DESC, res.pitch2D.pitchInBytes));
static_assert(sizeof(TextureDescription) == sizeof(hipTextureDesc) &&
              offsetof(TextureDescription, read) == offsetof(hipTextureDesc, readMode) &&
              offsetof(TextureDescription, border) == offsetof(hipTextureDesc, borderColor) &&
              offsetof(TextureDescription, normalized) == offsetof(hipTextureDesc, normalizedCoords) &&
              offsetof(TextureDescription, most_level) == offsetof(hipTextureDesc, maxMipmapLevelClamp));
static_assert(sizeof(DriverTextureDescription) == sizeof(HIP_TEXTURE_DESC) &&
              offsetof(DriverTextureDescription, flags) == offsetof(HIP_TEXTURE_DESC, flags) &&
              offsetof(DriverTextureDescription, border) == offsetof(HIP_TEXTURE_DESC, borderColor));
static_assert(sizeof(ViewDescription) == sizeof(hipResourceViewDesc) &&
              offsetof(ViewDescription, depth) == offsetof(hipResourceViewDesc, depth) &&
              offsetof(ViewDescription, last_layer) == offsetof(hipResourceViewDesc, lastLayer));
static_assert(sizeof(DriverViewDescription) == sizeof(HIP_RESOURCE_VIEW_DESC) &&
              offsetof(DriverViewDescription, view.last_layer) == offsetof(HIP_RESOURCE_VIEW_DESC, lastLayer));
static_assert(sizeof(TextureReference) == sizeof(textureReference) &&
              offsetof(TextureReference, channels) == offsetof(textureReference, channelDesc) &&
              offsetof(TextureReference, object) == offsetof(textureReference, textureObject) &&
              offsetof(TextureReference, format) == offsetof(textureReference, format));
static_assert(sizeof(KernelAttribute) == sizeof(hipKernelNodeAttrValue) &&
              offsetof(AccessWindow, ratio) == offsetof(hipAccessPolicyWindow, hitRatio) &&
              offsetof(AccessWindow, bytes) == offsetof(hipAccessPolicyWindow, num_bytes));
static_assert(sizeof(PoolProperties) == sizeof(hipMemPoolProps) &&
              offsetof(PoolProperties, device) == offsetof(hipMemPoolProps, location.id));

// ABSENT_name, LATER_version: not in this header. Names that compilers call and those of hip_ext.h are elsewhere.
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
#define ABSENT_hipChooseDeviceR0000 PROBE
#define ABSENT_hipExtModuleLaunchKernel PROBE
#define ABSENT_hipStreamGetDevice PROBE
#define ABSENT_hipDeviceGetGraphMemAttribute PROBE
#define ABSENT_hipDeviceSetGraphMemAttribute PROBE
#define ABSENT_hipDeviceGraphMemTrim PROBE
#define ABSENT__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j PROBE
#define ABSENT__Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_ PROBE
#define ABSENT__ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv PROBE
#define ABSENT___gnu_h2f_ieee PROBE
#define ABSENT___gnu_f2h_ieee PROBE
#define ABSENT_hipCreateChannelDesc PROBE
#define ABSENT_hipDeviceGetTexture1DLinearMaxWidth PROBE
#define ABSENT_hipTexRefGetArray PROBE
#define ABSENT__Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc PROBE
#define ABSENT__Z23hipDestroySurfaceObjectP13__hip_surface PROBE
// Calls of the header, compiled for streams of threads, under the name without _spt.
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
// The header also has templates of these calls, so their type is given here. It has one like it.
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
#define OVERLOADED_hipBindTexture PROBE
using Type_hipBindTexture = hipError_t (*)(size_t*, const textureReference*, const void*, const hipChannelFormatDesc*,
                                           size_t);
#define OVERLOADED_hipBindTexture2D PROBE
using Type_hipBindTexture2D = hipError_t (*)(size_t*, const textureReference*, const void*, const hipChannelFormatDesc*,
                                             size_t, size_t, size_t);
#define OVERLOADED_hipBindTextureToArray PROBE
using Type_hipBindTextureToArray = hipError_t (*)(const textureReference*, hipArray_const_t,
                                                  const hipChannelFormatDesc*);
#define OVERLOADED_hipUnbindTexture PROBE
using Type_hipUnbindTexture = hipError_t (*)(const textureReference*);
#define CHECK_110(...)
#define CHECK_100(...)
#define CHECK_010(...)
#define CHECK_001(result, name, parameters)                             \
    static_assert(static_cast<Type_##name>(&::name) != nullptr, #name); \
    static_assert(strata::providers::abi::kSameCall<result(*) parameters, Type_##name>, #name);
#define CHECK_000(result, name, parameters) \
    static_assert(strata::providers::abi::kSameCall<result(*) parameters, decltype(&::name)>, #name);
#define CHECK_IF(a, b, c) CHECK_##a##b##c
#define CHECK(a, b, c) CHECK_IF(a, b, c)
#define EXPORT(version, area, result, name, parameters) \
    CHECK(IS(ABSENT_##name), IS(LATER_##version), IS(OVERLOADED_##name))(result, name, parameters)
#include "strata/hip/api/exports.def"
#undef EXPORT

#define ATTRIBUTE(name, code, value) static_assert(hipDeviceAttribute##name == code);
#define ATTRIBUTE_5_3(name, code, value)
#include "strata/hip/library/attributes.def"
#undef ATTRIBUTE_5_3
#undef ATTRIBUTE

}  // namespace
#endif
