// NVIDIA's driver behind the HipApi table: device i is the driver's i-th, in its primary context, which other libraries of the process
// (torch, CuPy) use too. Memory comes from the driver's stream-ordered pool; copies and allocations are in order with all
// streams, as those of the table's calls are blocking ones (CUDA Driver API, "Stream synchronization behavior").
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/core/support/wrong_index.h"
#include "strata/runtime/hip/nvidia_driver.h"
#include "strata/runtime/hip/providers.h"

namespace strata::hip {
namespace {

using cuda::kSuccess;

struct Gpu {
    int device = 0;  ///< the driver's handle
    void *context = nullptr, *pool = nullptr;
    DeviceProperties properties;
    int shared_asked_most = 0;  ///< bytes of a block that a launch may ask for
};

struct CudaModule {
    int device;
    void* module;
    DevicePtr wrong_index = 0;  ///< where its kernels leave one (codegen/compile/prelude_nvidia.hip); 0: nowhere
    std::vector<std::unique_ptr<struct CudaFunction>> functions = {};
};
struct CudaFunction {
    CudaModule* module;
    void* function;
    std::string name;
    uint32_t may_ask = 0;  ///< bytes of dynamic shared memory
};
struct CudaStream {
    int device;
    void* stream;
};
struct CudaEvent {
    int device;
    void* event;
};

// The table's handles are known by name alone: behind them is what stands here.
CudaModule* of(ModuleHandle* handle) { return reinterpret_cast<CudaModule*>(handle); }
CudaFunction* of(FunctionHandle* handle) { return reinterpret_cast<CudaFunction*>(handle); }
CudaStream* of(StreamHandle* handle) { return reinterpret_cast<CudaStream*>(handle); }
CudaEvent* of(EventHandle* handle) { return reinterpret_cast<CudaEvent*>(handle); }

Result<int> attribute(const NvidiaDriver& driver, int device, int which) {
    int value = 0;
    STRATA_TRY_VOID(driver.check("cuDeviceGetAttribute", driver.cuDeviceGetAttribute(&value, which, device)));
    return value;
}

Result<DeviceProperties> read_properties(const NvidiaDriver& driver, int device) {
    namespace is = cuda::device_attribute;
    DeviceProperties p;
    char name[256] = {};
    STRATA_TRY_VOID(driver.check("cuDeviceGetName", driver.cuDeviceGetName(name, sizeof name, device)));
    STRATA_TRY(const int major, attribute(driver, device, is::kMajor));
    STRATA_TRY(const int minor, attribute(driver, device, is::kMinor));
    p.name = name;
    p.arch = fmt::format("sm_{}{}", major, minor);
    STRATA_TRY(p.warp_size, attribute(driver, device, is::kWarpSize));
    STRATA_TRY(p.max_block, attribute(driver, device, is::kMaxBlock));
    STRATA_TRY(p.lds_per_block, attribute(driver, device, is::kMaxShared));
    for (int dim = 0; dim < 3; ++dim) {
        STRATA_TRY(const int most, attribute(driver, device, is::kMaxGridX + dim));
        p.max_grid[static_cast<size_t>(dim)] = static_cast<uint32_t>(most);
    }
    STRATA_TRY(p.units, attribute(driver, device, is::kUnits));
    STRATA_TRY_VOID(driver.check("cuDeviceTotalMem", driver.cuDeviceTotalMem_v2(&p.memory_bytes, device)));
    p.driver = driver.version();
    return p;
}

Result<std::unique_ptr<Gpu>> open(const NvidiaDriver& driver, int ordinal) {
    auto gpu = std::make_unique<Gpu>();
    STRATA_TRY_VOID(driver.check("cuDeviceGet", driver.cuDeviceGet(&gpu->device, ordinal)));
    STRATA_TRY(gpu->properties, read_properties(driver, gpu->device));
    STRATA_TRY(gpu->shared_asked_most, attribute(driver, gpu->device, cuda::device_attribute::kMaxSharedAsked));
    STRATA_TRY(const int pools, attribute(driver, gpu->device, cuda::device_attribute::kMemoryPools));
    if (!pools)
        return make_error(ErrorKind::Device,
                          "{} has no memory pools (CUDA_ERROR_NOT_SUPPORTED), which Strata allocates from",
                          gpu->properties.name);
    STRATA_TRY_VOID(
        driver.check("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device)));
    STRATA_TRY_VOID(driver.check("cuCtxSetCurrent", driver.cuCtxSetCurrent(gpu->context)));
    STRATA_TRY_VOID(
        driver.check("cuDeviceGetDefaultMemPool", driver.cuDeviceGetDefaultMemPool(&gpu->pool, gpu->device)));
    uint64_t keep = ~uint64_t{0};  // what is freed stays until somebody runs out of memory
    STRATA_TRY_VOID(driver.check("cuMemPoolSetAttribute",
                                 driver.cuMemPoolSetAttribute(gpu->pool, cuda::pool_attribute::kKeep, &keep)));
    return gpu;
}

/// The driver and a device, whose context is the thread's from here on.
struct Place {
    const NvidiaDriver* driver;
    Gpu* gpu;
};
Result<Place> place(int device) {
    static Mutex mutex;
    static auto* const gpus = new std::vector<std::unique_ptr<Gpu>>();  // outlives what is freed at the end
    STRATA_TRY(const NvidiaDriver* driver, nvidia_driver());
    Gpu* gpu = nullptr;
    {
        std::lock_guard lock(mutex);
        const auto at = static_cast<size_t>(device);
        if (device < 0)
            return make_error(ErrorKind::Device, "CUDA_ERROR_INVALID_DEVICE: there is no device {}", device);
        if (at >= gpus->size()) gpus->resize(at + 1);
        if (!(*gpus)[at]) {
            STRATA_TRY((*gpus)[at], open(*driver, device));
        }
        gpu = (*gpus)[at].get();
    }
    STRATA_TRY_VOID(driver->check("cuCtxSetCurrent", driver->cuCtxSetCurrent(gpu->context)));
    return Place{driver, gpu};
}

#define CUDA_CALL(at, name, ...) STRATA_TRY_VOID((at).driver->check(#name, (at).driver->name(__VA_ARGS__)))

Result<int> device_count() {
    STRATA_TRY(const NvidiaDriver* driver, nvidia_driver());
    int count = 0;
    STRATA_TRY_VOID(driver->check("cuDeviceGetCount", driver->cuDeviceGetCount(&count)));
    return count;
}

Result<DeviceProperties> device_properties(int device) {
    STRATA_TRY(const Place at, place(device));
    return at.gpu->properties;
}

std::string device_label(int device) { return fmt::to_string(device); }

size_t pooled_bytes(int device) {
    const Result<Place> at = place(device);
    uint64_t reserved = 0, used = 0;
    if (!at ||
        at->driver->cuMemPoolGetAttribute(at->gpu->pool, cuda::pool_attribute::kReserved, &reserved) != kSuccess ||
        at->driver->cuMemPoolGetAttribute(at->gpu->pool, cuda::pool_attribute::kUsed, &used) != kSuccess)
        return 0;
    return reserved - used;
}

Error out_of_memory(const Place& at, int device, size_t bytes, size_t pooled) {
    size_t free = 0, total = 0;
    (void)at.driver->cuMemGetInfo_v2(&free, &total);
    return make_error(
        ErrorKind::Device,
        "CUDA_ERROR_OUT_OF_MEMORY: {} bytes were asked for on {} (hip:{}), of whose {} bytes {} are free, after "
        "the pool gave back {}; drop tensors, or compute in smaller parts",
        bytes, at.gpu->properties.name, device, total, free, pooled);
}

Result<DevicePtr> allocate(int device, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    DevicePtr memory = 0;
    int code = at.driver->cuMemAllocAsync(&memory, std::max<size_t>(bytes, 1), nullptr);
    if (code == cuda::kOutOfMemory) {
        CUDA_CALL(at, cuCtxSynchronize);
        const size_t pooled = pooled_bytes(device);
        CUDA_CALL(at, cuMemPoolTrimTo, at.gpu->pool, 0);
        code = at.driver->cuMemAllocAsync(&memory, std::max<size_t>(bytes, 1), nullptr);
        if (code == cuda::kOutOfMemory) return out_of_memory(at, device, bytes, pooled);
    }
    STRATA_TRY_VOID(at.driver->check("cuMemAllocAsync", code));
    return memory;
}

Result<void> release(int device, DevicePtr memory) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemFreeAsync", at.driver->cuMemFreeAsync(memory, nullptr));
}
Result<void> to_device(int device, DevicePtr to, const void* from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemcpyHtoD", at.driver->cuMemcpyHtoD_v2(to, from, bytes));
}
Result<void> to_host(int device, void* to, DevicePtr from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemcpyDtoH", at.driver->cuMemcpyDtoH_v2(to, from, bytes));
}
Result<void> on_device(int device, DevicePtr to, DevicePtr from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemcpyDtoD", at.driver->cuMemcpyDtoD_v2(to, from, bytes));
}
Result<void> fill(int device, DevicePtr to, int value, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemsetD8", at.driver->cuMemsetD8_v2(to, static_cast<unsigned char>(value), bytes));
}

Result<ModuleHandle*> module_load(int device, std::span<const uint8_t> code_object) {
    STRATA_TRY(const Place at, place(device));
    auto module = std::make_unique<CudaModule>(CudaModule{device, nullptr});
    CUDA_CALL(at, cuModuleLoadData, &module->module, code_object.data());
    size_t bytes = 0;
    const int code =
        at.driver->cuModuleGetGlobal_v2(&module->wrong_index, &bytes, module->module, "__strata_wrong_index");
    if (code != kSuccess) module->wrong_index = 0;
    if (code != cuda::kNotFound) STRATA_TRY_VOID(at.driver->check("cuModuleGetGlobal", code));
    return reinterpret_cast<ModuleHandle*>(module.release());
}

Result<void> module_unload(ModuleHandle* handle) {
    const std::unique_ptr<CudaModule> module(of(handle));
    STRATA_TRY(const Place at, place(module->device));
    CUDA_CALL(at, cuCtxSynchronize);  // its kernels may be running
    return at.driver->check("cuModuleUnload", at.driver->cuModuleUnload(module->module));
}

Result<FunctionHandle*> module_function(ModuleHandle* handle, std::string_view name) {
    CudaModule* const module = of(handle);
    STRATA_TRY(const Place at, place(module->device));
    CudaFunction function{module, nullptr, std::string(name)};
    CUDA_CALL(at, cuModuleGetFunction, &function.function, module->module, function.name.c_str());
    module->functions.push_back(std::make_unique<CudaFunction>(std::move(function)));
    return reinterpret_cast<FunctionHandle*>(module->functions.back().get());
}

Result<DeviceRange> module_global(ModuleHandle* handle, std::string_view name) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    DeviceRange range;
    CUDA_CALL(at, cuModuleGetGlobal_v2, &range.address, &range.bytes, of(handle)->module, std::string(name).c_str());
    return range;
}

/// Beyond what any launch may have, shared memory is asked for of the function.
Result<void> ask_for_shared(const Place& at, CudaFunction& function, uint32_t dynamic_lds) {
    constexpr uint32_t kAlways = 48 << 10;
    if (dynamic_lds <= std::max(function.may_ask, kAlways)) return {};
    if (dynamic_lds > static_cast<uint32_t>(at.gpu->shared_asked_most))
        return make_error(ErrorKind::Launch, "kernel '{}' asks for {} bytes of shared memory and a block of {} has {}",
                          function.name, dynamic_lds, at.gpu->properties.name, at.gpu->shared_asked_most);
    CUDA_CALL(at, cuFuncSetAttribute, function.function, cuda::function_attribute::kMaxDynamicShared,
              static_cast<int>(dynamic_lds));
    function.may_ask = dynamic_lds;
    return {};
}

/// What a launch that failed says of itself: after a fault the context is of no more use.
Error fault(const CudaFunction& function, Error error) {
    error.kind = ErrorKind::Launch;
    error.message = fmt::format("kernel '{}': {}", function.name, error.message);
    return error;
}

/// The index that a kernel found outside of its axis, if it did.
Result<void> look_for_wrong_index(const Place& at, const CudaFunction& function) {
    const DevicePtr where = function.module->wrong_index;
    if (!where) return {};
    uint64_t left = 0;
    CUDA_CALL(at, cuMemcpyDtoH_v2, &left, where, sizeof left);
    const auto wrong = wrong_index(left);
    if (!wrong) return {};
    CUDA_CALL(at, cuMemsetD8_v2, where, 0, sizeof left);
    return make_error(ErrorKind::MemoryFault, "kernel '{}': index {} is outside of axis {}", function.name,
                      wrong->index, wrong->axis);
}

Result<void> launch(FunctionHandle* handle, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                    uint32_t dynamic_lds, StreamHandle* stream, std::span<const uint8_t> arguments, LaunchReport&) {
    CudaFunction& function = *of(handle);
    STRATA_TRY(const Place at, place(function.module->device));
    STRATA_TRY_VOID(ask_for_shared(at, function, dynamic_lds));
    size_t bytes = arguments.size();
    void* extra[] = {cuda::kArgumentBuffer, const_cast<uint8_t*>(arguments.data()), cuda::kArgumentBytes, &bytes,
                     cuda::kEndOfExtra};
    const Result<void> launched = at.driver->check(
        "cuLaunchKernel", at.driver->cuLaunchKernel(function.function, grid[0], grid[1], grid[2], block[0], block[1],
                                                    block[2], dynamic_lds, of(stream)->stream, nullptr, extra));
    if (!launched) return fault(function, launched.error());
    if (!function.module->wrong_index) return {};
    return look_for_wrong_index(at, function);
}

Result<StreamHandle*> stream_create(int device) {
    if (const Result<Place> at = place(device); !at) return at.error();
    // The legacy stream: in order with allocations and copies of this table, and with torch's and CuPy's own work.
    return reinterpret_cast<StreamHandle*>(new CudaStream{device, nullptr});
}
Result<void> stream_destroy(StreamHandle* handle) {
    const std::unique_ptr<CudaStream> stream(of(handle));
    return {};
}
Result<void> stream_synchronize(StreamHandle* handle) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return at.driver->check("cuStreamSynchronize", at.driver->cuStreamSynchronize(of(handle)->stream));
}

Result<EventHandle*> event_create(int device) {
    STRATA_TRY(const Place at, place(device));
    auto event = std::make_unique<CudaEvent>(CudaEvent{device, nullptr});
    CUDA_CALL(at, cuEventCreate, &event->event, 0);
    return reinterpret_cast<EventHandle*>(event.release());
}
Result<void> event_destroy(EventHandle* handle) {
    const std::unique_ptr<CudaEvent> event(of(handle));
    STRATA_TRY(const Place at, place(event->device));
    return at.driver->check("cuEventDestroy", at.driver->cuEventDestroy_v2(event->event));
}
Result<void> event_record(EventHandle* handle, StreamHandle* stream) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return at.driver->check("cuEventRecord", at.driver->cuEventRecord(of(handle)->event, of(stream)->stream));
}
Result<double> event_elapsed_ms(EventHandle* start, EventHandle* stop) {
    STRATA_TRY(const Place at, place(of(stop)->device));
    CUDA_CALL(at, cuEventSynchronize, of(stop)->event);
    float milliseconds = 0;
    CUDA_CALL(at, cuEventElapsedTime, &milliseconds, of(start)->event, of(stop)->event);
    return double{milliseconds};
}

void* host_view(int, DevicePtr) { return nullptr; }

#undef CUDA_CALL

}  // namespace

const HipApi& nvidia() {
    static const HipApi api = {
        .provider = "nvidia",
        .device_count = device_count,
        .device_properties = device_properties,
        .malloc = allocate,
        .free = release,
        .memcpy_to_device = to_device,
        .memcpy_to_host = to_host,
        .memcpy_on_device = on_device,
        .memset = fill,
        .module_load = module_load,
        .module_unload = module_unload,
        .module_function = module_function,
        .module_global = module_global,
        .module_launch_kernel = launch,
        .stream_create = stream_create,
        .stream_destroy = stream_destroy,
        .stream_synchronize = stream_synchronize,
        .event_create = event_create,
        .event_destroy = event_destroy,
        .event_record = event_record,
        .event_elapsed_ms = event_elapsed_ms,
        .device_label = device_label,
        .host_view = host_view,
        .pooled_bytes = pooled_bytes,
    };
    return api;
}

}  // namespace strata::hip
