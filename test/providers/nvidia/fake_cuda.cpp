// A library with the calls of providers/nvidia/driver.def, for tests on machines without a card. Memory is the host's.
// A launched kernel does nothing, except the one that reads (providers/nvidia/readback.cpp). The test decides by
// strata_fake_cuda() which calls fail. It shows what the provider asks and how it answers errors, and nothing of what a
// card does.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fake_cuda.h"

namespace {

FakeCuda state;
std::map<uint64_t, size_t> blocks;

int answer(const char* call) {
    ++state.calls[call];
    const auto failing = state.fails.find(call);
    if (failing == state.fails.end() || failing->second.times == 0) return 0;
    --failing->second.times;
    return failing->second.code;
}
template <class T>
T* handle(uintptr_t value) {
    return reinterpret_cast<T*>(value);
}

constexpr uintptr_t kFunction = 0x4000, kReadingFunction = 0x4001;

/// A kernel that writes to a page of the host.
struct Reading {
    void *to, *from, *numbers;
    uint32_t bytes, now;
    explicit Reading(void** parameters) {
        memcpy(&to, parameters[0], sizeof to), memcpy(&from, parameters[1], sizeof from);
        memcpy(&bytes, parameters[2], sizeof bytes);
        memcpy(&numbers, parameters[3], sizeof numbers), memcpy(&now, parameters[4], sizeof now);
    }
    void finish() const {
        state.read_to = to;
        memcpy(to, from, bytes), memcpy(numbers, &now, sizeof now);
        if (state.reads_wrong) memset(to, 0, bytes);
    }
};
std::optional<Reading> under_way;

}  // namespace

extern "C" {

FakeCuda* strata_fake_cuda() { return &state; }

int cuInit(unsigned) { return answer("cuInit"); }
int cuDriverGetVersion(int* version) { return *version = 13000, answer("cuDriverGetVersion"); }
int cuGetErrorName(int error, const char** name) {
    *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == 999 ? "CUDA_ERROR_UNKNOWN"
                           : nullptr;
    return *name ? 0 : 1;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == 2     ? "out of memory"
            : error == 700 ? "an illegal memory access was encountered"
            : error == 999 ? "unknown error"
                           : nullptr;
    return *text ? 0 : 1;
}
int cuDeviceGetCount(int* count) { return *count = state.devices, answer("cuDeviceGetCount"); }
int cuDeviceGet(int* device, int ordinal) {
    return *device = ordinal, ordinal < state.devices ? answer("cuDeviceGet") : 101;
}
int cuDeviceGetName(char* name, int size, int) { return strncpy(name, "Fake H200", static_cast<size_t>(size)), 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
    static const std::map<int, int> values = {{1, 1024},  {5, 0x7fffffff}, {6, 65535}, {7, 65535},
                                              {8, 49152}, {10, 32},        {16, 132},  {75, 9},
                                              {76, 0},    {97, 232448},    {115, 1}};
    const auto found = values.find(attribute);
    return found == values.end() ? 1 : (*value = found->second, answer("cuDeviceGetAttribute"));
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = state.memory, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
    return *context = handle<void>(0x1000u + static_cast<unsigned>(device)), answer("cuDevicePrimaryCtxRetain");
}
int cuCtxSetCurrent(void* context) { return state.context = context, answer("cuCtxSetCurrent"); }
int cuCtxSynchronize() { return answer("cuCtxSynchronize"); }
int cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = 1000, *total = state.memory, 0; }
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = handle<void>(0x2000), 0; }
int cuMemPoolGetAttribute(void*, int attribute, void* value) {
    const uint64_t bytes = attribute == 5 ? 4096 : 1024;
    return memcpy(value, &bytes, sizeof bytes), 0;
}
int cuMemPoolSetAttribute(void*, int, void*) { return answer("cuMemPoolSetAttribute"); }
int cuMemPoolTrimTo(void*, size_t) { return answer("cuMemPoolTrimTo"); }
int cuMemAllocAsync(uint64_t* memory, size_t bytes, void*) {
    if (const int code = answer("cuMemAllocAsync")) return code;
    *memory = reinterpret_cast<uint64_t>(calloc(bytes, 1));
    blocks[*memory] = bytes;
    return 0;
}
int cuMemFreeAsync(uint64_t memory, void*) {
    if (!blocks.erase(memory)) return 1;
    free(reinterpret_cast<void*>(memory));
    return answer("cuMemFreeAsync");
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
    return memcpy(reinterpret_cast<void*>(to), from, bytes), answer("cuMemcpyHtoD");
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    state.pinned.push_back({* memory = calloc(bytes, 1), bytes});
    return answer("cuMemHostAlloc");
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
    state.read_to = to;
    if (state.while_reading) std::exchange(state.while_reading, nullptr)();
    return memcpy(to, reinterpret_cast<void*>(from), bytes), answer("cuMemcpyDtoH");
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    return memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), answer("cuMemcpyDtoD");
}
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
    return memset(reinterpret_cast<void*>(to), value, bytes), answer("cuMemsetD8");
}
int cuModuleLoadData(void** module, const void*) { return *module = handle<void>(0x3000), answer("cuModuleLoadData"); }
int cuModuleUnload(void*) { return answer("cuModuleUnload"); }
int cuModuleGetFunction(void** function, void*, const char* name) {
    const bool reads = std::string_view(name) == "strata_read";
    *function = handle<void>(reads ? kReadingFunction : kFunction);
    if (!reads) state.function = name;
    return answer("cuModuleGetFunction");
}
int cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void*, const char* name) {
    const auto found = state.variables.find(name);
    if (found == state.variables.end()) return 500;
    return *address = reinterpret_cast<uint64_t>(&found->second), *bytes = 8, answer("cuModuleGetGlobal");
}
int cuFuncGetAttribute(int* value, int, void*) { return *value = 0, 0; }
int cuFuncSetAttribute(void*, int, int value) { return state.shared_asked = value, answer("cuFuncSetAttribute"); }
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void*, void** parameters, void** extra) {
    if (function == handle<void>(kReadingFunction)) {
        state.read_threads = bx;
        if (state.while_reading) std::exchange(state.while_reading, nullptr)();
        if (const int code = answer("cuLaunchKernel")) return code;
        under_way.emplace(parameters);
        if (!state.reads_late) under_way->finish();
        return 0;
    }
    state.grid = {gx, gy, gz}, state.block = {bx, by, bz}, state.shared = shared;
    state.arguments.assign(static_cast<const char*>(extra[1]), *static_cast<const size_t*>(extra[3]));
    return answer("cuLaunchKernel");
}
int cuStreamCreate(void** stream, unsigned) { return *stream = handle<void>(0x5000), answer("cuStreamCreate"); }
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) {
    if (const int code = answer("cuStreamSynchronize")) return code;
    if (under_way) under_way->finish();
    return 0;
}
int cuEventCreate(void** event, unsigned) { return *event = handle<void>(0x6000), 0; }
int cuEventDestroy_v2(void*) { return 0; }
int cuEventRecord(void*, void*) { return answer("cuEventRecord"); }
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void*, void*) { return *milliseconds = 0.5f, 0; }

int cuStreamQuery(void*) { return answer("cuStreamQuery"); }
int cuStreamWaitEvent(void* stream, void*, unsigned) { return state.waiting = stream, answer("cuStreamWaitEvent"); }
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
    state.copying = stream;
    return memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), answer("cuMemcpyAsync");
}
int cuEventQuery(void*) { return answer("cuEventQuery"); }
int cuGraphCreate(void** graph, unsigned) { return *graph = handle<void>(0x7000), answer("cuGraphCreate"); }
int cuGraphDestroy(void*) { return answer("cuGraphDestroy"); }
int cuGraphAddKernelNode_v2(void** node, void*, void* const* after, size_t count, const void* kernel) {
    *node = handle<void>(0x8000 + state.nodes.size());
    state.nodes.push_back({count ? after[0] : nullptr, *static_cast<const FakeCuda::Kernel*>(kernel)});
    return answer("cuGraphAddKernelNode");
}
int cuGraphInstantiateWithFlags(void** executable, void*, unsigned long long) {
    return *executable = handle<void>(0x9000), answer("cuGraphInstantiateWithFlags");
}
int cuGraphExecDestroy(void*) { return answer("cuGraphExecDestroy"); }
int cuGraphExecKernelNodeSetParams_v2(void*, void* node, const void* kernel) {
    const auto& given = *static_cast<const FakeCuda::Kernel*>(kernel);
    state.nodes.at(reinterpret_cast<uintptr_t>(node) - 0x8000).kernel = given;
    state.arguments.assign(static_cast<const char*>(given.extra[1]), *static_cast<const size_t*>(given.extra[3]));
    return answer("cuGraphExecKernelNodeSetParams");
}
int cuGraphLaunch(void*, void*) { return answer("cuGraphLaunch"); }

}  // extern "C"
