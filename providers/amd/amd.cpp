// AMD's HIP runtime as a HipApi table: device i is HIP's. Launches do not wait; the calls that give something to the
// host do. Work on a device is in the order of its streams. They are made to wait for the default one and it for them,
// where copies are.
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "strata/core/support/mutex.h"
#include "strata/providers/amd/library.h"
#include "strata/providers/amd/memory_pool.h"
#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

std::string name_of(int device) { return fmt::format("{}:{}", prefix_of(amd), device); }

struct Card;
MemoryDriver memory_driver(Card& card);

struct Card {
    Card(int which, DeviceProperties is)
        : ordinal(which), properties(std::move(is)), memory(name_of(which), memory_driver(*this)) {}

    const int ordinal;
    const DeviceProperties properties;
    MemoryPool memory;
    Mutex mutex;
    std::string last_kernel;  ///< that was launched
};
struct Machine {
    AmdLibrary hip;
    std::vector<std::unique_ptr<Card>> cards;
};

// The structs that handles of this provider point to.
struct AmdFunction {
    Card* card;
    void* function;
    std::string name;
};
struct AmdModule {
    Card* card;
    std::vector<uint8_t> code;  ///< HIP may read it as long as the module is loaded
    void* module = nullptr;
    std::vector<std::unique_ptr<AmdFunction>> functions = {};
};
struct AmdStream {
    Card* card;
    void* stream;
    bool borrowed = false;
};
struct AmdEvent {
    Card* card;
    void* event;
};
struct AmdGraph {
    Card* card;
    void *graph = nullptr, *executable = nullptr;
    std::vector<void*> nodes = {};
    std::vector<abi::KernelNode> kernels = {};
};
template <class Handle, class Own>
Handle* handle(Own* own) {
    return reinterpret_cast<Handle*>(own);
}
AmdModule& of(ModuleHandle* module) { return *reinterpret_cast<AmdModule*>(module); }
AmdFunction& of(FunctionHandle* function) { return *reinterpret_cast<AmdFunction*>(function); }
AmdStream& of(StreamHandle* stream) { return *reinterpret_cast<AmdStream*>(stream); }
AmdEvent& of(EventHandle* event) { return *reinterpret_cast<AmdEvent*>(event); }
AmdGraph& of(GraphHandle* graph) { return *reinterpret_cast<AmdGraph*>(graph); }

void* pointer(DevicePtr address) { return reinterpret_cast<void*>(address); }

Result<DeviceProperties> properties_of(const AmdLibrary& hip, int ordinal) {
    STRATA_TRY(const abi::Properties is, hip.properties(ordinal));
    DeviceProperties p;
    const std::string_view arch = abi::text_of(is.gcnArchName);  // "gfx90a:sramecc+:xnack-"
    p.name = abi::text_of(is.name);
    p.arch = arch.substr(0, arch.find(':'));
    p.warp_size = is.warpSize;
    p.max_block = is.maxThreadsPerBlock;
    p.lds_per_block = static_cast<int>(is.sharedMemPerBlock);
    for (size_t i = 0; i < 3; ++i) p.max_grid[i] = static_cast<uint32_t>(is.maxGridSize[i]);
    p.units = is.multiProcessorCount;
    p.memory_bytes = is.totalGlobalMem;
    STRATA_TRY(p.driver, hip.version());
    return p;
}

Result<std::unique_ptr<Machine>> open_machine() {
    STRATA_TRY(AmdLibrary hip, open_amd_library(amd_library_files()));
    auto machine = std::make_unique<Machine>(Machine{std::move(hip), {}});
    const AmdLibrary& library = machine->hip;
    int count = 0;
    int code = library.hipInit(0);
    if (code == abi::hipSuccess) code = library.hipGetDeviceCount(&count);
    if (Result<void> asked = library.checked(code, "hipGetDeviceCount"); !asked || count == 0)
        return make_error(ErrorKind::Device,
                          "{} finds no AMD GPU{}{}; is the driver amdgpu loaded, and may you use /dev/kfd?",
                          library.file, asked ? "" : ": ", asked ? "" : asked.error().message);
    for (int i = 0; i < count; ++i) {
        STRATA_TRY(DeviceProperties properties, properties_of(library, i));
        machine->cards.push_back(std::make_unique<Card>(i, std::move(properties)));
    }
    return machine;
}

std::atomic<bool> asked_for{false};

/// The library and its cards, from the first time that somebody asks for them.
Result<Machine*> machine() {
    asked_for = true;
    static Mutex mutex;
    static auto* opened = new std::optional<Result<std::unique_ptr<Machine>>>;
    std::lock_guard lock(mutex);
    if (!*opened) *opened = open_machine();
    if (!**opened) return (*opened)->error();
    return (**opened)->get();
}

/// The scope of calls on one card: it is the current one of this thread, and errors say what became of it.
struct Here {
    const AmdLibrary& hip;
    Card& card;

    Result<void> operator()(int code, std::string_view call) const {
        Result<void> checked = hip.checked(code, call);
        if (checked || !abi::row_of(code).lost) return checked;
        Error& error = checked.error();
        std::lock_guard lock(card.mutex);
        error.message += fmt::format(
            ": the context of {0} is lost, and with it all memory there; start the process again. {1}strata run "
            "--device emu:{2} on the same kernel, or STRATA_DEVICE=emu:{2}, names the instruction",
            name_of(card.ordinal),
            card.last_kernel.empty() ? "" : fmt::format("The last kernel was '{}'. ", card.last_kernel),
            card.properties.arch);
        return checked;
    }
};

Result<Here> on(Card& card) {
    STRATA_TRY(Machine * all, machine());
    Here here{all->hip, card};
    STRATA_TRY_VOID(here(here.hip.hipSetDevice(card.ordinal), "hipSetDevice"));
    return here;
}
MemoryDriver memory_driver(Card& card) {
    MemoryDriver driver;
    driver.malloc = [&card](size_t bytes) -> Result<std::optional<DevicePtr>> {
        STRATA_TRY(const Here here, on(card));
        void* memory = nullptr;
        const int code = here.hip.hipMalloc(&memory, bytes);
        Result<void> checked = here(code, "hipMalloc");
        if (code == abi::hipErrorOutOfMemory) return std::optional<DevicePtr>();
        STRATA_TRY_VOID(std::move(checked));
        return std::optional(reinterpret_cast<DevicePtr>(memory));
    };
    driver.free = [&card](DevicePtr memory) -> Result<void> {
        STRATA_TRY(const Here here, on(card));
        return here(here.hip.hipFree(pointer(memory)), "hipFree");
    };
    driver.synchronize = [&card]() -> Result<void> {
        STRATA_TRY(const Here here, on(card));
        return here(here.hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
    };
    driver.info = [&card] {
        MemoryDriver::Info info;
        if (const Result<Here> here = on(card)) (void)here->hip.hipMemGetInfo(&info.free, &info.total);
        return info;
    };
    return driver;
}

Result<Card*> card(int device) {
    STRATA_TRY(Machine * all, machine());
    if (device < 0 || static_cast<size_t>(device) >= all->cards.size())
        return make_error(ErrorKind::Device, "hipErrorInvalidDevice: there is no AMD GPU {}", device);
    return all->cards[static_cast<size_t>(device)].get();
}
Result<Here> on(int device) {
    STRATA_TRY(Card * of_device, card(device));
    return on(*of_device);
}

Result<int> device_count() {
    STRATA_TRY(Machine * all, machine());
    return static_cast<int>(all->cards.size());
}
Result<DeviceProperties> device_properties(int device) {
    STRATA_TRY(Card * of_device, card(device));
    return of_device->properties;
}
std::string device_label(int device) { return std::to_string(device); }
bool may_have_devices() { return asked_for || access("/dev/kfd", F_OK) == 0 || access("/dev/dxg", F_OK) == 0; }

Result<DevicePtr> malloc(int device, size_t bytes) {
    STRATA_TRY(Card * of_device, card(device));
    return of_device->memory.malloc(bytes);
}
Result<void> free(int device, DevicePtr memory) {
    STRATA_TRY(Card * of_device, card(device));
    return of_device->memory.free(memory);
}
Result<void> memcpy_to_device(int device, DevicePtr to, const void* from, size_t bytes) {
    STRATA_TRY(Here here, on(device));
    return here(here.hip.hipMemcpyHtoD(pointer(to), const_cast<void*>(from), bytes), "hipMemcpyHtoD");
}
Result<void> memcpy_to_host(int device, void* to, DevicePtr from, size_t bytes) {
    STRATA_TRY(Here here, on(device));
    return here(here.hip.hipMemcpyDtoH(to, pointer(from), bytes), "hipMemcpyDtoH");
}
Result<void> memcpy_on_device(int device, DevicePtr to, DevicePtr from, size_t bytes) {
    STRATA_TRY(Here here, on(device));
    return here(here.hip.hipMemcpyDtoD(pointer(to), pointer(from), bytes), "hipMemcpyDtoD");
}
Result<void> memset(int device, DevicePtr to, int value, size_t bytes) {
    STRATA_TRY(Here here, on(device));
    return here(here.hip.hipMemsetD8(pointer(to), static_cast<unsigned char>(value), bytes), "hipMemsetD8");
}

Result<ModuleHandle*> module_load(int device, std::span<const uint8_t> code_object) {
    STRATA_TRY(Here here, on(device));
    auto own = std::make_unique<AmdModule>(AmdModule{&here.card, {code_object.begin(), code_object.end()}});
    STRATA_TRY_VOID(here(here.hip.hipModuleLoadData(&own->module, own->code.data()), "hipModuleLoadData"));
    return handle<ModuleHandle>(own.release());
}
Result<void> module_unload(ModuleHandle* module) {
    const std::unique_ptr<AmdModule> own(&of(module));
    STRATA_TRY(Here here, on(*own->card));
    return here(here.hip.hipModuleUnload(own->module), "hipModuleUnload");
}
Result<FunctionHandle*> module_function(ModuleHandle* module, std::string_view name) {
    AmdModule& own = of(module);
    STRATA_TRY(Here here, on(*own.card));
    auto function = std::make_unique<AmdFunction>(AmdFunction{own.card, nullptr, std::string(name)});
    const int code = here.hip.hipModuleGetFunction(&function->function, own.module, function->name.c_str());
    STRATA_TRY_VOID(here(code, fmt::format("hipModuleGetFunction of '{}'", name)));
    return handle<FunctionHandle>(own.functions.emplace_back(std::move(function)).get());
}
Result<DeviceRange> module_global(ModuleHandle* module, std::string_view name) {
    AmdModule& own = of(module);
    STRATA_TRY(Here here, on(*own.card));
    void* address = nullptr;
    DeviceRange range;
    const int code = here.hip.hipModuleGetGlobal(&address, &range.bytes, own.module, std::string(name).c_str());
    STRATA_TRY_VOID(here(code, fmt::format("hipModuleGetGlobal of '{}'", name)));
    range.address = reinterpret_cast<DevicePtr>(address);
    return range;
}

/// The bytes of arguments, as HIP takes them.
struct Extra {
    explicit Extra(std::span<const uint8_t> arguments)
        : bytes(arguments.size()),
          words{pointer(abi::kBufferPointer), const_cast<uint8_t*>(arguments.data()), pointer(abi::kBufferSize), &bytes,
                pointer(abi::kEnd)} {}
    Extra(const Extra&) = delete;
    size_t bytes;
    void* words[5];
};

Result<void> module_launch_kernel(FunctionHandle* function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                                  uint32_t dynamic_lds, StreamHandle* stream, std::span<const uint8_t> arguments,
                                  const LaunchRequest&, LaunchReport&) {
    AmdFunction& own = of(function);
    STRATA_TRY(Here here, on(*own.card));
    {
        std::lock_guard lock(own.card->mutex);
        own.card->last_kernel = own.name;
    }
    Extra extra(arguments);
    Result<void> launched =
        here(here.hip.hipModuleLaunchKernel(own.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                            dynamic_lds, of(stream).stream, nullptr, extra.words),
             fmt::format("hipModuleLaunchKernel of '{}', grid {}x{}x{}, block {}x{}x{}", own.name, grid[0], grid[1],
                         grid[2], block[0], block[1], block[2]));
    if (!launched && launched.error().kind == ErrorKind::Usage) launched.error().kind = ErrorKind::Launch;
    return launched;
}

/// The result of a query: not over yet is no error.
Result<bool> done(const Here& here, int code, std::string_view call) {
    if (code != abi::hipErrorNotReady) {
        STRATA_TRY_VOID(here(code, call));
        return true;
    }
    (void)here.hip.hipGetLastError();
    return false;
}

Result<StreamHandle*> stream_create(int device) {
    STRATA_TRY(Here here, on(device));
    void* stream = nullptr;
    STRATA_TRY_VOID(here(here.hip.hipStreamCreate(&stream), "hipStreamCreate"));
    return handle<StreamHandle>(new AmdStream{&here.card, stream});
}
Result<StreamHandle*> stream_create_beside(int device) {
    STRATA_TRY(Here here, on(device));
    void* stream = nullptr;
    constexpr unsigned kBeside = 1;  // hipStreamNonBlocking
    STRATA_TRY_VOID(here(here.hip.hipStreamCreateWithFlags(&stream, kBeside), "hipStreamCreateWithFlags"));
    return handle<StreamHandle>(new AmdStream{&here.card, stream});
}
Result<StreamHandle*> stream_over(int device, uint64_t raw) {
    STRATA_TRY(Here here, on(device));
    return handle<StreamHandle>(new AmdStream{&here.card, pointer(raw), true});
}
uint64_t stream_raw(StreamHandle* stream) { return reinterpret_cast<uint64_t>(of(stream).stream); }
Result<void> stream_destroy(StreamHandle* stream) {
    const std::unique_ptr<AmdStream> own(&of(stream));
    if (own->borrowed) return {};
    STRATA_TRY(Here here, on(*own->card));
    return here(here.hip.hipStreamDestroy(own->stream), "hipStreamDestroy");
}
Result<void> stream_synchronize(StreamHandle* stream) {
    AmdStream& own = of(stream);
    STRATA_TRY(Here here, on(*own.card));
    return here(here.hip.hipStreamSynchronize(own.stream), "hipStreamSynchronize");
}
Result<bool> stream_query(StreamHandle* stream) {
    AmdStream& own = of(stream);
    STRATA_TRY(Here here, on(*own.card));
    return done(here, here.hip.hipStreamQuery(own.stream), "hipStreamQuery");
}
Result<void> stream_wait_event(StreamHandle* stream, EventHandle* event) {
    AmdStream& own = of(stream);
    STRATA_TRY(Here here, on(*own.card));
    return here(here.hip.hipStreamWaitEvent(own.stream, of(event).event, 0), "hipStreamWaitEvent");
}
Result<void> memcpy_async(StreamHandle* stream, CopyKind kind, uint64_t to, uint64_t from, size_t bytes) {
    AmdStream& own = of(stream);
    STRATA_TRY(Here here, on(*own.card));
    return here(here.hip.hipMemcpyAsync(pointer(to), pointer(from), bytes, static_cast<int>(kind), own.stream),
                "hipMemcpyAsync");
}

Result<EventHandle*> event_create(int device) {
    STRATA_TRY(Here here, on(device));
    void* event = nullptr;
    STRATA_TRY_VOID(here(here.hip.hipEventCreate(&event), "hipEventCreate"));
    return handle<EventHandle>(new AmdEvent{&here.card, event});
}
Result<void> event_destroy(EventHandle* event) {
    const std::unique_ptr<AmdEvent> own(&of(event));
    STRATA_TRY(Here here, on(*own->card));
    return here(here.hip.hipEventDestroy(own->event), "hipEventDestroy");
}
Result<void> event_record(EventHandle* event, StreamHandle* stream) {
    AmdEvent& own = of(event);
    STRATA_TRY(Here here, on(*own.card));
    return here(here.hip.hipEventRecord(own.event, of(stream).stream), "hipEventRecord");
}
Result<void> event_synchronize(EventHandle* event) {
    STRATA_TRY(Here here, on(*of(event).card));
    return here(here.hip.hipEventSynchronize(of(event).event), "hipEventSynchronize");
}
Result<bool> event_query(EventHandle* event) {
    STRATA_TRY(Here here, on(*of(event).card));
    return done(here, here.hip.hipEventQuery(of(event).event), "hipEventQuery");
}
Result<double> event_elapsed_ms(EventHandle* start, EventHandle* stop) {
    STRATA_TRY(Here here, on(*of(stop).card));
    float milliseconds = 0;
    STRATA_TRY_VOID(
        here(here.hip.hipEventElapsedTime(&milliseconds, of(start).event, of(stop).event), "hipEventElapsedTime"));
    return static_cast<double>(milliseconds);
}

Result<GraphHandle*> graph_create(int device) {
    STRATA_TRY(Here here, on(device));
    auto own = std::make_unique<AmdGraph>(AmdGraph{&here.card});
    STRATA_TRY_VOID(here(here.hip.hipGraphCreate(&own->graph, 0), "hipGraphCreate"));
    return handle<GraphHandle>(own.release());
}
Result<void> graph_destroy(GraphHandle* graph) {
    const std::unique_ptr<AmdGraph> own(&of(graph));
    STRATA_TRY(Here here, on(*own->card));
    if (own->executable) STRATA_TRY_VOID(here(here.hip.hipGraphExecDestroy(own->executable), "hipGraphExecDestroy"));
    return here(here.hip.hipGraphDestroy(own->graph), "hipGraphDestroy");
}
Result<void> graph_add_kernel(GraphHandle* graph, FunctionHandle* function, std::array<uint32_t, 3> grid,
                              std::array<uint32_t, 3> block, uint32_t dynamic_lds, std::span<const uint8_t> arguments) {
    AmdGraph& own = of(graph);
    STRATA_TRY(Here here, on(*own.card));
    Extra extra(arguments);
    const abi::KernelNode kernel{block, extra.words, of(function).function, grid, nullptr, dynamic_lds};
    void* node = nullptr;
    void* const* latest = own.nodes.empty() ? nullptr : &own.nodes.back();
    STRATA_TRY_VOID(here(here.hip.hipGraphAddKernelNode(&node, own.graph, latest, latest ? 1 : 0, &kernel),
                         "hipGraphAddKernelNode"));
    own.nodes.push_back(node);
    own.kernels.push_back(kernel);
    return {};
}
Result<void> graph_set_arguments(GraphHandle* graph, size_t kernel, std::span<const uint8_t> arguments) {
    AmdGraph& own = of(graph);
    STRATA_TRY(Here here, on(*own.card));
    Extra extra(arguments);
    abi::KernelNode changed = own.kernels.at(kernel);
    changed.extra = extra.words;
    return here(here.hip.hipGraphExecKernelNodeSetParams(own.executable, own.nodes[kernel], &changed),
                "hipGraphExecKernelNodeSetParams");
}
Result<void> graph_launch(GraphHandle* graph, StreamHandle* stream) {
    AmdGraph& own = of(graph);
    STRATA_TRY(Here here, on(*own.card));
    if (!own.executable)
        STRATA_TRY_VOID(
            here(here.hip.hipGraphInstantiate(&own.executable, own.graph, nullptr, nullptr, 0), "hipGraphInstantiate"));
    return here(here.hip.hipGraphLaunch(own.executable, of(stream).stream), "hipGraphLaunch");
}

void* host_view(int, DevicePtr) { return nullptr; }

size_t pooled_bytes(int device) {
    Result<Card*> of_device = card(device);
    return of_device ? (*of_device)->memory.pooled_bytes() : 0;
}

}  // namespace

const HipApi& amd() {
    static const HipApi api = {
        .provider = "amd",
        .modelled_time = false,
#define HIP(entry, result, name, parameters) .name = name,
#include "strata/providers/hip_api.def"
#undef HIP
        .device_label = device_label,
        .host_view = host_view,
        .stream_over = stream_over,
        .stream_raw = stream_raw,
        .may_have_devices = may_have_devices,
        .pooled_bytes = pooled_bytes,
    };
    return api;
}

}  // namespace strata::providers
