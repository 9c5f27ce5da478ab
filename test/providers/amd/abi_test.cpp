// Strata's facts of HIP's headers, against those headers (HIP 5.2) and against the fields of HIP 6's hipDeviceProp_t in
// order.
#include "strata/providers/amd/abi.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "same_call.h"

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#if __has_include(<hip/hip_runtime_api.h>)
#include <hip/hip_runtime_api.h>
#define HAS_HIP_HEADERS 1
#endif

namespace strata::providers::abi {
namespace {

/// hipDeviceProp_tR0600 as HIP 6.3 has it: types and order are what decides where a field is.
struct PropertiesR0600 {
    char name[256], uuid[16], luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
    int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
    int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63], hipReserved[32];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    unsigned arch;
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    int cooperativeMultiDeviceUnmatched[4], isLargeBar, asicRevision;
};
static_assert(sizeof(PropertiesR0600) == kPropertiesBytesR0600);
#define PROPERTY(field, type, offset5, offset6)                 \
    static_assert(offsetof(PropertiesR0600, field) == offset6); \
    static_assert(sizeof(PropertiesR0600::field) == sizeof(type));
#define PROPERTY_6(field, type, offset6) PROPERTY(field, type, 0, offset6)
#include "strata/providers/amd/properties.def"
#undef PROPERTY
#undef PROPERTY_6

#ifdef HAS_HIP_HEADERS
static_assert(sizeof(hipDeviceProp_t) == kPropertiesBytes5);
#define PROPERTY(field, type, offset5, offset6)                 \
    static_assert(offsetof(hipDeviceProp_t, field) == offset5); \
    static_assert(sizeof(hipDeviceProp_t::field) == sizeof(type));
#define PROPERTY_6(field, type, offset6)
#include "strata/providers/amd/properties.def"
#undef PROPERTY
#undef PROPERTY_6

#define AMD_ERROR(name, code, kind, lost, text) static_assert(static_cast<int>(::name) == code);
#include "strata/providers/amd/errors.def"
#undef AMD_ERROR

static_assert(kBufferPointer == 1 && kBufferSize == 2 && kEnd == 3);

static_assert(!kSameCall<int (*)(void*), int (*)(int)> && !kSameCall<int (*)(), int (*)(int)>);

#define CALL_5(result, name, parameters) static_assert(kSameCall<result(*) parameters, decltype(&::name)>);
#define CALL_6(...)
#define CALL(since, result, name, parameters) CALL_##since(result, name, parameters)
#include "strata/providers/amd/calls.def"
#undef CALL
#endif

TEST(AmdAbi, CodesAreNamedAsAmdsLibraryNamesThem) {
    void* library = dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_LOCAL);
    if (!library) GTEST_SKIP() << "needs Debian package libamdhip64-dev";
    const auto name = reinterpret_cast<const char* (*)(int)>(dlsym(library, "hipGetErrorName"));
    for (int code = 0; code < 1100; ++code)
        if (row_of(code).code == code) EXPECT_EQ(row_of(code).name, name(code));
    EXPECT_EQ(row_of(12345).name, "hipErrorUnknown");
    EXPECT_EQ(row_of(700).text, "an illegal memory access was encountered");
    EXPECT_TRUE(row_of(700).lost);
    EXPECT_FALSE(row_of(2).lost);
}

TEST(AmdAbi, PropertiesComeBackInBothLayouts) {
    Properties p;
    p.name = text256("a card");
    p.gcnArchName = text256("gfx90a:sramecc+:xnack-");
    p.totalGlobalMem = 24ull << 30;
    p.warpSize = 64;
    p.maxGridSize = {7, 8, 9};
    for (const auto& [layout, bytes] :
         {std::pair(Layout::hip5, kPropertiesBytes5), {Layout::r0600, kPropertiesBytesR0600}}) {
        std::vector<std::byte> memory(bytes + 8, std::byte{0x5a});
        write_properties(p, layout, memory);
        EXPECT_EQ(memory[bytes], std::byte{0x5a}) << "no byte after the struct is written";
        const Properties back = read_properties(layout, memory);
        EXPECT_EQ(text_of(back.name), "a card");
        EXPECT_EQ(text_of(back.gcnArchName), "gfx90a:sramecc+:xnack-");
        EXPECT_EQ(back.totalGlobalMem, 24ull << 30);
        EXPECT_EQ(back.warpSize, 64);
        EXPECT_EQ(back.maxGridSize, (Int3{7, 8, 9}));
        EXPECT_EQ(back.maxThreadsPerBlock, 0);
    }
    EXPECT_EQ(text_of(text256(std::string(400, 'x'))).size(), 255u) << "the last byte is a zero";
}

}  // namespace
}  // namespace strata::providers::abi
