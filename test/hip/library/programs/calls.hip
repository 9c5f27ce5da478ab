// The calls of a program, against what the host computes. Each check that fails says where.
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>

#include <cstring>
#include <string>
#include <thread>

#include "checks.h"

__device__ int counter = 5;
__constant__ float weights[4];
__managed__ int shared_value = 11;

__global__ void weigh(const float* in, float* out) {
    extern __shared__ float staged[];
    staged[threadIdx.x] = in[threadIdx.x] * weights[threadIdx.x % 4];
    __syncthreads();
    out[threadIdx.x] = staged[blockDim.x - 1 - threadIdx.x];
}
__global__ void count() {
    atomicAdd(&counter, 1);
    if (threadIdx.x == 0) shared_value += 2;
}
__global__ void in_step(int* out) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    out[blockIdx.x] = blockIdx.x;
    grid.sync();
    if (threadIdx.x == 0) out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
}

static void memory() {
    int *a = nullptr, *b = nullptr;
    OK(hipMalloc(&a, 1024));
    OK(hipMalloc(&b, 1024));
    const std::vector<int> values = numbers(256, 3);
    OK(hipMemcpy(a, values.data(), 1024, hipMemcpyDefault));
    OK(hipMemcpy(b, a, 1024, hipMemcpyDeviceToDevice));
    EXPECT(read(b, 256) == values);
    std::vector<int> other(256);
    OK(hipMemcpy(other.data(), values.data(), 1024, hipMemcpyHostToHost));
    EXPECT(other == values);
    CODE(hipMemcpy(a, values.data(), 1025, hipMemcpyHostToDevice), hipErrorInvalidValue);
    CODE(hipMemcpy(a, values.data(), 4, hipMemcpyKind(77)), hipErrorInvalidMemcpyDirection);
    CODE(hipMemcpy(nullptr, values.data(), 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
    OK(hipMemset(a, 0x11, 512));
    EXPECT(read(a, 256)[127] == 0x11111111 && read(a, 256)[128] == 131);
    OK(hipMemsetD16(hipDeviceptr_t(a), 0x1234, 2));
    OK(hipMemsetD32(hipDeviceptr_t(a + 1), 77, 1));
    EXPECT(read(a, 2) == (std::vector<int>{0x12341234, 77}));
    CODE(hipMemset(a, 0, 2000), hipErrorInvalidValue);
    CODE(hipMemset(other.data(), 0, 4), hipErrorInvalidValue);
    OK(hipFree(a));
    CODE(hipFree(a), hipErrorInvalidValue);
    CODE(hipFree(b + 1), hipErrorInvalidValue);
    CODE(hipMemcpy(a, values.data(), 4, hipMemcpyHostToDevice), hipErrorInvalidValue);
    OK(hipFree(b));
    OK(hipFree(nullptr));
}

static void boxes() {
    char* rows = nullptr;
    size_t pitch = 0;
    OK(hipMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 100, 7));
    EXPECT(pitch >= 100 && pitch % 256 == 0);
    std::vector<char> in(700), out(700);
    for (int i = 0; i < 700; ++i) in[i] = char(i * 3);
    OK(hipMemcpy2D(rows, pitch, in.data(), 100, 100, 7, hipMemcpyHostToDevice));
    OK(hipMemset2D(rows + pitch, pitch, 9, 100, 2));
    OK(hipMemcpy2D(out.data(), 100, rows, pitch, 100, 7, hipMemcpyDeviceToHost));
    std::fill(in.begin() + 100, in.begin() + 300, 9);
    EXPECT(in == out);
    CODE(hipMemcpy2D(out.data(), 50, rows, pitch, 100, 7, hipMemcpyDeviceToHost), hipErrorInvalidPitchValue);
    CODE(hipMemcpy2D(out.data(), 100, rows, pitch, 100, 8, hipMemcpyDeviceToHost), hipErrorInvalidValue);
    OK(hipFree(rows));
    hipPitchedPtr box;
    OK(hipMalloc3D(&box, make_hipExtent(16, 5, 3)));
    OK(hipMemset3D(box, 4, make_hipExtent(16, 5, 3)));
    std::vector<char> cube(16 * 5 * 3), again(16 * 5 * 3);
    for (size_t i = 0; i < cube.size(); ++i) cube[i] = char(i);
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(cube.data(), 16, 16, 5);
    copy.dstPtr = box;
    copy.dstPos = make_hipPos(4, 1, 1);
    copy.extent = make_hipExtent(8, 3, 2);
    copy.kind = hipMemcpyHostToDevice;
    OK(hipMemcpy3D(&copy));
    hipMemcpy3DParms back = {};
    back.srcPtr = box;
    back.dstPtr = make_hipPitchedPtr(again.data(), 16, 16, 5);
    back.extent = make_hipExtent(16, 5, 3);
    back.kind = hipMemcpyDeviceToHost;
    OK(hipMemcpy3D(&back));
    for (int z = 0; z < 3; ++z)
        for (int y = 0; y < 5; ++y)
            for (int x = 0; x < 16; ++x) {
                const bool inside = z >= 1 && y >= 1 && y < 4 && x >= 4 && x < 12;
                const char expected = inside ? cube[((z - 1) * 5 + y - 1) * 16 + x - 4] : 4;
                if (again[(z * 5 + y) * 16 + x] != expected) EXPECT(!"a byte of the box");
            }
    CODE(hipMemcpy3D(nullptr), hipErrorInvalidValue);
    OK(hipFree(box.ptr));
}

static void host_memory() {
    int *pinned = nullptr, *seen = nullptr;
    OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 256, hipHostMallocMapped));
    OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), pinned, 0));
    for (int i = 0; i < 64; ++i) pinned[i] = i;
    bump<<<1, 64>>>(seen, 100);
    OK(hipDeviceSynchronize());
    EXPECT(std::vector<int>(pinned, pinned + 64) == numbers(64, 100));
    unsigned flags = 0;
    OK(hipHostGetFlags(&flags, pinned));
    EXPECT(flags == hipHostMallocMapped);
    hipPointerAttribute_t about;
    OK(hipPointerGetAttributes(&about, pinned));
    EXPECT(about.hostPointer == pinned && about.devicePointer == seen && !about.isManaged);
    OK(hipHostFree(pinned));
    CODE(hipHostFree(pinned), hipErrorInvalidValue);
    std::vector<int> own = numbers(64);
    OK(hipHostRegister(own.data(), 256, hipHostRegisterDefault));
    CODE(hipHostRegister(own.data(), 256, hipHostRegisterDefault), hipErrorHostMemoryAlreadyRegistered);
    OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), own.data(), 0));
    bump<<<1, 64>>>(seen, 5);
    OK(hipDeviceSynchronize());
    EXPECT(own == numbers(64, 5));
    OK(hipHostUnregister(own.data()));
    CODE(hipHostUnregister(own.data()), hipErrorHostMemoryNotRegistered);
    CODE(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), own.data(), 0), hipErrorInvalidValue);
    int* managed = nullptr;
    OK(hipMallocManaged(&managed, 256));
    for (int i = 0; i < 64; ++i) managed[i] = i;
    bump<<<1, 64>>>(managed, 1);
    OK(hipDeviceSynchronize());
    EXPECT(managed[63] == 64);
    OK(hipPointerGetAttributes(&about, managed));
    EXPECT(about.isManaged);
    CODE(hipMallocManaged(&managed, 0), hipErrorInvalidValue);
    CODE(hipPointerGetAttributes(nullptr, managed), hipErrorInvalidValue);
}

static void symbols() {
    const float values[] = {1, 2, 3, 4};
    OK(hipMemcpyToSymbol(HIP_SYMBOL(weights), values, sizeof values));
    float *in, *out;
    OK(hipMalloc(&in, 256));
    OK(hipMalloc(&out, 256));
    std::vector<float> ones(64, 1), got(64);
    OK(hipMemcpy(in, ones.data(), 256, hipMemcpyHostToDevice));
    weigh<<<1, 64, 256>>>(in, out);
    OK(hipMemcpy(got.data(), out, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) EXPECT(got[i] == values[(63 - i) % 4]);
    count<<<2, 64>>>();
    int counted = 0;
    OK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), 4));
    EXPECT(counted == 5 + 128);
    EXPECT(shared_value > 11);
    void* address = nullptr;
    size_t bytes = 0;
    OK(hipGetSymbolAddress(&address, HIP_SYMBOL(weights)));
    OK(hipGetSymbolSize(&bytes, HIP_SYMBOL(weights)));
    EXPECT(bytes == sizeof values);
    OK(hipMemcpy(got.data(), address, 16, hipMemcpyDeviceToHost));
    EXPECT(got[3] == 4);
    OK(hipMemcpyFromSymbol(got.data(), HIP_SYMBOL(weights), 4, 8));
    EXPECT(got[0] == 3);
    CODE(hipMemcpyToSymbol(HIP_SYMBOL(weights), values, 16, 4), hipErrorInvalidValue);
    CODE(hipGetSymbolAddress(&address, &counted), hipErrorInvalidSymbol);
    OK(hipFree(in));
    OK(hipFree(out));
}

static void streams_and_events() {
    hipStream_t one, two;
    OK(hipStreamCreate(&one));
    OK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    unsigned flags = 7;
    OK(hipStreamGetFlags(two, &flags));
    EXPECT(flags == hipStreamNonBlocking);
    CODE(hipStreamCreateWithFlags(&two, 55), hipErrorInvalidValue);
    hipEvent_t start, stop, untimed;
    OK(hipEventCreate(&start));
    OK(hipEventCreate(&stop));
    OK(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    float ms = -1;
    CODE(hipEventElapsedTime(&ms, start, stop), hipErrorInvalidHandle);
    int* memory;
    OK(hipMalloc(&memory, 4096));
    OK(hipEventRecord(start, one));
    OK(hipMemsetAsync(memory, 0, 4096, one));
    for (int i = 0; i < 3; ++i) bump<<<4, 256, 0, one>>>(memory, 2);
    OK(hipEventRecord(stop, one));
    OK(hipStreamWaitEvent(two, stop, 0));
    std::vector<int> out(1024);
    OK(hipMemcpyAsync(out.data(), memory, 4096, hipMemcpyDeviceToHost, two));
    int called = 0;
    OK(hipStreamAddCallback(two, [](hipStream_t, hipError_t, void* data) { ++*static_cast<int*>(data); }, &called, 0));
    OK(hipLaunchHostFunc(two, [](void* data) { *static_cast<int*>(data) += 10; }, &called));
    OK(hipStreamSynchronize(two));
    EXPECT(out == std::vector<int>(1024, 6) && called == 11);
    OK(hipEventSynchronize(stop));
    OK(hipEventQuery(stop));
    OK(hipEventElapsedTime(&ms, start, stop));
    EXPECT(ms > 0 && ms < 10);
    OK(hipEventRecord(untimed, one));
    CODE(hipEventElapsedTime(&ms, start, untimed), hipErrorInvalidHandle);
    OK(hipStreamQuery(one));
    bump<<<1, 64, 0, hipStreamPerThread>>>(memory, 1);
    OK(hipStreamSynchronize(hipStreamPerThread));
    EXPECT(read(memory, 1)[0] == 7);
    OK(hipEventDestroy(start));
    CODE(hipEventRecord(start, one), hipErrorInvalidHandle);
    CODE(hipEventDestroy(start), hipErrorContextIsDestroyed);
    OK(hipStreamDestroy(one));
    CODE(hipStreamDestroy(one), hipErrorContextIsDestroyed);
    CODE(hipStreamSynchronize(one), hipErrorContextIsDestroyed);
    OK(hipStreamDestroy(two));
    OK(hipFree(memory));
}

static void launches() {
    int* memory;
    OK(hipMalloc(&memory, 4096));
    OK(hipMemset(memory, 0, 4096));
    bump<<<0, 64>>>(memory, 1);
    EXPECT(hipPeekAtLastError() == hipErrorInvalidConfiguration);
    EXPECT(hipGetLastError() == hipErrorInvalidConfiguration && hipGetLastError() == hipSuccess);
    bump<<<1, 2048>>>(memory, 1);
    EXPECT(hipGetLastError() == hipErrorInvalidConfiguration);
    void* arguments[] = {&memory};
    OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(in_step), dim3(8), dim3(64), arguments, 0, nullptr));
    for (int i = 0; i < 8; ++i) EXPECT(read(memory, 16)[8 + i] == (i + 1) % 8);
    CODE(hipLaunchCooperativeKernel(reinterpret_cast<void*>(in_step), dim3(1 << 20), dim3(64), arguments, 0, nullptr),
         hipErrorCooperativeLaunchTooLarge);
    CODE(hipLaunchKernel(&checks, dim3(1), dim3(1), arguments, 0, nullptr), hipErrorInvalidDeviceFunction);
    hipFuncAttributes about;
    OK(hipFuncGetAttributes(&about, reinterpret_cast<const void*>(weigh)));
    EXPECT(about.maxThreadsPerBlock == 1024 && about.sharedSizeBytes == 0 && about.numRegs > 0);
    CODE(hipFuncGetAttributes(&about, &checks), hipErrorInvalidDeviceFunction);
    int blocks = 0, grid = 0, block = 0;
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bump, 256, 0));
    EXPECT(blocks == 8);  // of 4 waves; a unit holds 32
    OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bump, 256, 32768));
    EXPECT(blocks == 2);  // of 64 KiB
    OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, bump, 0, 0));
    EXPECT(block == 1024 && grid == 2 * 104);
    std::thread([&] {
        bump<<<1, 64>>>(memory + 64, 3);
        OK(hipDeviceSynchronize());
    }).join();
    EXPECT(read(memory + 64, 64) == std::vector<int>(64, 3));
    OK(hipFree(memory));
}

static void devices() {
    int count = 0, device = -1, value = 0;
    OK(hipGetDeviceCount(&count));
    OK(hipGetDevice(&device));
    EXPECT(count == 1 && device == 0);
    CODE(hipSetDevice(1), hipErrorInvalidDevice);
    CODE(hipGetDevice(nullptr), hipErrorInvalidValue);
    hipDeviceProp_t properties;
    OK(hipGetDeviceProperties(&properties, 0));
    EXPECT(std::string(properties.gcnArchName) == "gfx90a:sramecc+:xnack-");
    EXPECT(properties.major == 9 && properties.minor == 0 && properties.multiProcessorCount == 104);
    EXPECT(properties.maxThreadsPerMultiProcessor == 2048 && properties.clockRate == 1700000);
    OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
    EXPECT(value == 64);
    OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxGridDimY, 0));
    EXPECT(value == 65535);
    CODE(hipDeviceGetAttribute(&value, hipDeviceAttribute_t(5000), 0), hipErrorInvalidValue);
    CODE(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 9), hipErrorInvalidDevice);
    char text[64];
    OK(hipDeviceGetPCIBusId(text, sizeof text, 0));
    OK(hipDeviceGetByPCIBusId(&device, text));
    EXPECT(device == 0);
    CODE(hipDeviceGetByPCIBusId(&device, "0000:ff:00.0"), hipErrorInvalidValue);
    CODE(hipDeviceCanAccessPeer(&value, 0, 5), hipErrorInvalidDevice);
    CODE(hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);
    CODE(hipDeviceDisablePeerAccess(0), hipErrorInvalidDevice);
    size_t limit = 0;
    OK(hipDeviceGetLimit(&limit, hipLimitMallocHeapSize));
    EXPECT(limit == 64u << 20);
    CODE(hipDeviceGetLimit(&limit, hipLimit_t(99)), hipErrorUnsupportedLimit);
    size_t free_before = 0, free_behind = 0, total = 0;
    void* memory;
    OK(hipMalloc(&memory, 1 << 20));
    OK(hipMemGetInfo(&free_before, &total));
    OK(hipDeviceReset());
    OK(hipMemGetInfo(&free_behind, &total));
    EXPECT(free_behind >= free_before + (1 << 20));
    CODE(hipFree(memory), hipErrorInvalidValue);
    int counted = 0;
    OK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), 4));
    EXPECT(counted == 5);
    EXPECT(std::string(hipGetErrorString(hipErrorOutOfMemory)) == "out of memory");
    CODE(hipMalloc(&memory, size_t{1} << 60), hipErrorOutOfMemory);
}

int main() {
    memory();
    boxes();
    host_memory();
    symbols();
    streams_and_events();
    launches();
    devices();
    return tell();
}
