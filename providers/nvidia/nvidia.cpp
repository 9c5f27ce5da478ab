// NVIDIA's driver as a HipApi table. Device i is the driver's i-th, in its primary context, which other libraries of
// the process (torch, CuPy) use too. Memory comes from the driver's stream-ordered pool, small blocks that were freed
// from a list. Copies and allocations are in order with all streams, as the table's calls are blocking ones (CUDA
// Driver API, "Stream synchronization behavior").
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "strata/providers/nvidia/gpu.h"
#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

using cuda::kSuccess;

struct CudaModule {
    int device;
    void* module;
    DevicePtr wrong_index = 0;  ///< where its kernels leave one (codegen/toolchain/prelude_nvidia.hip); 0: nowhere
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
    bool owned = false;  ///< to be destroyed
};
struct CudaEvent {
    int device;
    void* event;
};

struct CudaGraph {
    int device;
    void *graph = nullptr, *executable = nullptr;
    std::vector<void*> nodes = {};
    std::vector<cuda::KernelNode> kernels = {};
    std::vector<const CudaFunction*> checked = {};  ///< those of the kernels that may leave a wrong index
};

// The table's handles are known by name alone: they lead to what stands here.
CudaModule* of(ModuleHandle* handle) { return reinterpret_cast<CudaModule*>(handle); }
CudaFunction* of(FunctionHandle* handle) { return reinterpret_cast<CudaFunction*>(handle); }
CudaStream* of(StreamHandle* handle) { return reinterpret_cast<CudaStream*>(handle); }
CudaEvent* of(EventHandle* handle) { return reinterpret_cast<CudaEvent*>(handle); }
CudaGraph* of(GraphHandle* handle) { return reinterpret_cast<CudaGraph*>(handle); }

#define CUDA_CALL(at, name, ...) STRATA_TRY_VOID((at).driver->check(#name, (at).driver->name(__VA_ARGS__)))

/// Reports wrong indices of the kernels that the host has waited for.
Result<void> look_for_wrong_indices(const Place& at, void* stream) {
    return at.gpu->wrong_indices.look(*at.driver, at.gpu->readback, stream);
}

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
    return reserved - used + at->gpu->small.kept_bytes();
}

Error out_of_memory(const Place& at, int device, size_t bytes, size_t pooled) {
    size_t free = 0, total = 0;
    (void)at.driver->cuMemGetInfo_v2(&free, &total);
    return make_error(
        ErrorKind::Device,
        "CUDA_ERROR_OUT_OF_MEMORY: {} bytes were asked for on {} ({}:{}), of whose {} bytes {} are free, after "
        "the pool gave back {}; drop tensors, or compute in smaller parts",
        bytes, at.gpu->properties.name, prefix_of(nvidia), device, total, free, pooled);
}

Result<DevicePtr> malloc(int device, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    AllocatorBins& small = at.gpu->small;
    if (const std::optional<DevicePtr> kept = small.take(bytes)) return *kept;
    DevicePtr memory = 0;
    const auto allocate = [&] { return at.driver->cuMemAllocAsync(&memory, AllocatorBins::rounded(bytes), nullptr); };
    int code = allocate();
    if (code == cuda::kOutOfMemory) {
        const size_t pooled = pooled_bytes(device);
        for (const DevicePtr kept : small.give_back()) CUDA_CALL(at, cuMemFreeAsync, kept, nullptr);
        CUDA_CALL(at, cuCtxSynchronize);
        CUDA_CALL(at, cuMemPoolTrimTo, at.gpu->pool, 0);
        code = allocate();
        if (code == cuda::kOutOfMemory) return out_of_memory(at, device, bytes, pooled);
    }
    STRATA_TRY_VOID(at.driver->check("cuMemAllocAsync", code));
    small.add(memory, bytes);
    return memory;
}

Result<void> free(int device, DevicePtr memory) {
    STRATA_TRY(const Place at, place(device));
    if (at.gpu->small.keep(memory)) return {};
    return at.driver->check("cuMemFreeAsync", at.driver->cuMemFreeAsync(memory, nullptr));
}
Result<void> memcpy_to_device(int device, DevicePtr to, const void* from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemcpyHtoD", at.driver->cuMemcpyHtoD_v2(to, from, bytes));
}
Result<void> memcpy_to_host(int device, void* to, DevicePtr from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    STRATA_TRY_VOID(read_back(*at.driver, at.gpu->readback, to, from, bytes));
    return look_for_wrong_indices(at, nullptr);  // which the copy waited for
}
Result<void> memcpy_on_device(int device, DevicePtr to, DevicePtr from, size_t bytes) {
    STRATA_TRY(const Place at, place(device));
    return at.driver->check("cuMemcpyDtoD", at.driver->cuMemcpyDtoD_v2(to, from, bytes));
}
Result<void> memset(int device, DevicePtr to, int value, size_t bytes) {
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
    at.gpu->wrong_indices.forget(module->wrong_index);
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

/// The error of a launch that failed, `why` if that is known: after a fault the context is of no more use.
Error fault(const CudaFunction& function, Error error, const std::string& why) {
    error.kind = ErrorKind::Launch;
    error.message = fmt::format("kernel '{}': {}", function.name, why.empty() ? error.message : why);
    return error;
}

/// The bytes of arguments, as the driver takes them.
struct Extra {
    explicit Extra(std::span<const uint8_t> arguments)
        : bytes(arguments.size()),
          words{cuda::kArgumentBuffer, const_cast<uint8_t*>(arguments.data()), cuda::kArgumentBytes, &bytes,
                cuda::kEndOfExtra} {}
    Extra(const Extra&) = delete;
    size_t bytes;
    void* words[5];
};

Result<void> module_launch_kernel(FunctionHandle* handle, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                                  uint32_t dynamic_lds, StreamHandle* stream, std::span<const uint8_t> arguments,
                                  const LaunchRequest&, LaunchReport&) {
    CudaFunction& function = *of(handle);
    STRATA_TRY(const Place at, place(function.module->device));
    STRATA_TRY_VOID(ask_for_shared(at, function, dynamic_lds));
    Extra extra(arguments);
    const Result<void> launched = at.driver->check(
        "cuLaunchKernel", at.driver->cuLaunchKernel(function.function, grid[0], grid[1], grid[2], block[0], block[1],
                                                    block[2], dynamic_lds, of(stream)->stream, nullptr, extra.words));
    if (!launched)
        return fault(function, launched.error(),
                     at.driver->beyond_limits(at.gpu->properties, function.function, grid, block));
    at.gpu->wrong_indices.expect(function.module->wrong_index, function.name, of(stream)->stream);
    return {};
}

Result<StreamHandle*> stream_create(int device) {
    if (const Result<Place> at = place(device); !at) return at.error();
    // The legacy stream: in order with allocations and copies of this table, and with torch's and CuPy's own work.
    return reinterpret_cast<StreamHandle*>(new CudaStream{device, nullptr});
}
Result<StreamHandle*> stream_create_beside(int device) {
    STRATA_TRY(const Place at, place(device));
    auto stream = std::make_unique<CudaStream>(CudaStream{device, nullptr, true});
    constexpr unsigned kBeside = 1;  // CU_STREAM_NON_BLOCKING
    CUDA_CALL(at, cuStreamCreate, &stream->stream, kBeside);
    return reinterpret_cast<StreamHandle*>(stream.release());
}
Result<StreamHandle*> stream_over(int device, uint64_t raw) {
    if (const Result<Place> at = place(device); !at) return at.error();
    return reinterpret_cast<StreamHandle*>(new CudaStream{device, reinterpret_cast<void*>(raw)});
}
uint64_t stream_raw(StreamHandle* handle) { return reinterpret_cast<uint64_t>(of(handle)->stream); }
Result<void> stream_destroy(StreamHandle* handle) {
    const std::unique_ptr<CudaStream> stream(of(handle));
    if (!stream->owned) return {};
    STRATA_TRY(const Place at, place(stream->device));
    return at.driver->check("cuStreamDestroy", at.driver->cuStreamDestroy_v2(stream->stream));
}
Result<void> stream_synchronize(StreamHandle* handle) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    CUDA_CALL(at, cuStreamSynchronize, of(handle)->stream);
    return look_for_wrong_indices(at, of(handle)->stream);
}
/// The result of a query: not over yet is no error.
Result<bool> done(const Place& at, const char* call, int code) {
    if (code == cuda::kNotReady) return false;
    STRATA_TRY_VOID(at.driver->check(call, code));
    return true;
}
Result<bool> stream_query(StreamHandle* handle) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return done(at, "cuStreamQuery", at.driver->cuStreamQuery(of(handle)->stream));
}
Result<void> stream_wait_event(StreamHandle* handle, EventHandle* event) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return at.driver->check("cuStreamWaitEvent", at.driver->cuStreamWaitEvent(of(handle)->stream, of(event)->event, 0));
}
Result<void> memcpy_async(StreamHandle* handle, CopyKind, uint64_t to, uint64_t from, size_t bytes) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return at.driver->check("cuMemcpyAsync", at.driver->cuMemcpyAsync(to, from, bytes, of(handle)->stream));
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
Result<void> event_synchronize(EventHandle* handle) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return at.driver->check("cuEventSynchronize", at.driver->cuEventSynchronize(of(handle)->event));
}
Result<bool> event_query(EventHandle* handle) {
    STRATA_TRY(const Place at, place(of(handle)->device));
    return done(at, "cuEventQuery", at.driver->cuEventQuery(of(handle)->event));
}
Result<double> event_elapsed_ms(EventHandle* start, EventHandle* stop) {
    STRATA_TRY(const Place at, place(of(stop)->device));
    CUDA_CALL(at, cuEventSynchronize, of(stop)->event);
    float milliseconds = 0;
    CUDA_CALL(at, cuEventElapsedTime, &milliseconds, of(start)->event, of(stop)->event);
    return double{milliseconds};
}

Result<GraphHandle*> graph_create(int device) {
    STRATA_TRY(const Place at, place(device));
    auto graph = std::make_unique<CudaGraph>(CudaGraph{device});
    CUDA_CALL(at, cuGraphCreate, &graph->graph, 0);
    return reinterpret_cast<GraphHandle*>(graph.release());
}
Result<void> graph_destroy(GraphHandle* handle) {
    const std::unique_ptr<CudaGraph> graph(of(handle));
    STRATA_TRY(const Place at, place(graph->device));
    if (graph->executable) CUDA_CALL(at, cuGraphExecDestroy, graph->executable);
    return at.driver->check("cuGraphDestroy", at.driver->cuGraphDestroy(graph->graph));
}
Result<void> graph_add_kernel(GraphHandle* handle, FunctionHandle* function, std::array<uint32_t, 3> grid,
                              std::array<uint32_t, 3> block, uint32_t dynamic_lds, std::span<const uint8_t> arguments) {
    CudaGraph& graph = *of(handle);
    STRATA_TRY(const Place at, place(graph.device));
    STRATA_TRY_VOID(ask_for_shared(at, *of(function), dynamic_lds));
    Extra extra(arguments);
    const cuda::KernelNode kernel{of(function)->function, grid, block, dynamic_lds, nullptr, extra.words};
    void* node = nullptr;
    void* const* latest = graph.nodes.empty() ? nullptr : &graph.nodes.back();
    CUDA_CALL(at, cuGraphAddKernelNode_v2, &node, graph.graph, latest, latest ? 1 : 0, &kernel);
    graph.nodes.push_back(node);
    graph.kernels.push_back(kernel);
    if (of(function)->module->wrong_index) graph.checked.push_back(of(function));
    return {};
}
Result<void> graph_set_arguments(GraphHandle* handle, size_t kernel, std::span<const uint8_t> arguments) {
    CudaGraph& graph = *of(handle);
    STRATA_TRY(const Place at, place(graph.device));
    Extra extra(arguments);
    cuda::KernelNode changed = graph.kernels.at(kernel);
    changed.extra = extra.words;
    return at.driver->check("cuGraphExecKernelNodeSetParams", at.driver->cuGraphExecKernelNodeSetParams_v2(
                                                                  graph.executable, graph.nodes[kernel], &changed));
}
Result<void> graph_launch(GraphHandle* handle, StreamHandle* stream) {
    CudaGraph& graph = *of(handle);
    STRATA_TRY(const Place at, place(graph.device));
    if (!graph.executable) CUDA_CALL(at, cuGraphInstantiateWithFlags, &graph.executable, graph.graph, 0);
    CUDA_CALL(at, cuGraphLaunch, graph.executable, of(stream)->stream);
    for (const CudaFunction* function : graph.checked)
        at.gpu->wrong_indices.expect(function->module->wrong_index, function->name, of(stream)->stream);
    return {};
}

void* host_view(int, DevicePtr) { return nullptr; }

#undef CUDA_CALL

}  // namespace

const HipApi& nvidia() {
    static const HipApi api = {
        .provider = "nvidia",
#define HIP(entry, result, name, parameters) .name = name,
#include "strata/providers/hip_api.def"
#undef HIP
        .device_label = device_label,
        .host_view = host_view,
        .stream_over = stream_over,
        .stream_raw = stream_raw,
        .pooled_bytes = pooled_bytes,
    };
    return api;
}

}  // namespace strata::providers
