// The emulator as a HipApi table: device i is the i-th architecture of archs.def; after them come others of the
// same.
#include "strata/providers/emulated.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>

#include "strata/asm/emu/gpu.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/isa/launch_limits.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/providers/providers.h"

namespace strata::providers {

struct ModuleHandle {
    int device;
    std::shared_ptr<emu::Module> module;
    std::vector<std::unique_ptr<FunctionHandle>> functions;
};
struct FunctionHandle {
    int device;
    std::shared_ptr<emu::Module> module;
    std::string name;
    std::set<std::pair<uint64_t, lint::Kind>> shown = {};  ///< findings that were printed
};
/// Modelled time in femtoseconds: sums of whole numbers give a launch the same time wherever it stands.
struct StreamHandle {
    uint64_t femtoseconds = 0;
    int device = 0;
    StreamHandle* of = nullptr;  ///< whose it is, if not our own
    StreamHandle& own() { return of ? *of : *this; }
};
struct EventHandle {
    std::optional<uint64_t> at = {};
};
struct GraphHandle {
    struct Kernel {
        FunctionHandle* function;
        std::array<uint32_t, 3> grid, block;
        uint32_t dynamic_lds;
        std::vector<uint8_t> arguments;
    };
    std::vector<Kernel> kernels = {};
};

namespace {

using emu::Gpu;

Mutex gpus_mutex;

Result<Gpu*> gpu(int device) {
    static auto* gpus = new std::vector<std::unique_ptr<Gpu>>(isa::archs().size() * kMostOfOneArch);
    if (device < 0 || static_cast<size_t>(device) >= gpus->size())
        return make_error(ErrorKind::Device, "hipErrorInvalidDevice: there is no emulated device {}", device);
    std::lock_guard lock(gpus_mutex);
    std::unique_ptr<Gpu>& slot = (*gpus)[static_cast<size_t>(device)];
    try {
        if (!slot) slot = std::make_unique<Gpu>(isa::archs()[static_cast<size_t>(device) % isa::archs().size()].arch);
    } catch (const Exception& e) {  // an arch that cannot be emulated, an unknown model
        return e.error();
    }
    return slot.get();
}

Result<int> device_count() { return static_cast<int>(isa::archs().size()); }

Result<DeviceProperties> device_properties(int device) {
    STRATA_TRY(Gpu * g, gpu(device));
    const isa::ArchInfo& arch = isa::info(g->arch());
    DeviceProperties p;
    p.name = fmt::format("{} (emulated)", g->model());
    p.arch = arch.name;
    p.warp_size = arch.wave_size;
    p.max_block = arch.max_block;
    p.lds_per_block = arch.lds_bytes;
    p.max_grid = isa::kMaxGrid;
    p.units = g->units();
    p.memory_bytes = g->memory_bytes();
    const Gpu::Card card = g->card();
    p.clock_khz = card.clock_khz;
    p.waves_per_unit = card.waves_per_unit;
    p.l2_bytes = card.l2_bytes;
    p.memory_gbs = card.memory_gbs;
    p.launch_us = card.launch_us;
    p.next_launch_us = card.next_launch_us;
    return p;
}

std::string device_label(int device) {
    return std::string(isa::archs()[static_cast<size_t>(device) % isa::archs().size()].name);
}

Result<DevicePtr> malloc(int device, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->allocate(bytes);
}
Result<DevicePtr> allocate_repeated(int device, size_t bytes, std::span<const uint8_t> pattern) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->allocate_repeated(bytes, pattern);
}
Result<void> free(int device, DevicePtr memory) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->free(memory);
}
Result<void> memcpy_to_device(int device, DevicePtr to, const void* from, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->write(to, from, bytes);
}
Result<void> memcpy_to_host(int device, void* to, DevicePtr from, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->read(to, from, bytes);
}
Result<void> memcpy_on_device(int device, DevicePtr to, DevicePtr from, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->copy(to, from, bytes);
}
Result<void> memset(int device, DevicePtr to, int value, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->fill(to, static_cast<uint8_t>(value), bytes);
}

Result<ModuleHandle*> module_load(int device, std::span<const uint8_t> code_object) {
    STRATA_TRY(Gpu * g, gpu(device));
    STRATA_TRY(std::shared_ptr<emu::Module> module, g->load(code_object));
    return new ModuleHandle{device, std::move(module), {}};
}
Result<void> module_unload(ModuleHandle* module) {
    delete module;
    return {};
}
Result<FunctionHandle*> module_function(ModuleHandle* module, std::string_view name) {
    STRATA_TRY_VOID(module->module->object().kernel(name));
    module->functions.push_back(
        std::make_unique<FunctionHandle>(FunctionHandle{module->device, module->module, std::string(name)}));
    return module->functions.back().get();
}

Result<DeviceRange> module_global(ModuleHandle* module, std::string_view name) {
    DeviceRange range;
    STRATA_TRY(range.address, module->module->symbol(name, &range.bytes));
    return range;
}

/// Those that are there: an address that a caller gives may be none.
struct Streams {
    Mutex mutex;
    std::set<StreamHandle*> live;
};
Streams& streams() {
    static auto* all = new Streams;
    return *all;
}

Result<StreamHandle*> stream_create(int device) {
    STRATA_TRY_VOID(gpu(device));
    auto* const stream = new StreamHandle{0, device};
    std::lock_guard lock(streams().mutex);
    return *streams().live.insert(stream).first;
}
Result<StreamHandle*> stream_create_beside(int device) { return stream_create(device); }
Result<StreamHandle*> stream_over(int device, uint64_t raw) {
    auto* const of = reinterpret_cast<StreamHandle*>(raw);
    std::lock_guard lock(streams().mutex);
    if (!streams().live.contains(of) || of->device != device)
        return make_error(ErrorKind::Usage, "hipErrorInvalidHandle: {:#x} is no stream of this emulated device", raw);
    return *streams().live.insert(new StreamHandle{0, device, &of->own()}).first;
}
uint64_t stream_raw(StreamHandle* stream) { return reinterpret_cast<uint64_t>(&stream->own()); }
Result<void> stream_destroy(StreamHandle* stream) {
    std::lock_guard lock(streams().mutex);
    streams().live.erase(stream);
    delete stream;
    return {};
}
// All is done when a call returns.
Result<void> stream_synchronize(StreamHandle*) { return {}; }
Result<bool> stream_query(StreamHandle*) { return true; }
Result<void> memcpy_async(StreamHandle* stream, CopyKind kind, uint64_t to, uint64_t from, size_t bytes) {
    if (kind == CopyKind::on_device) return memcpy_on_device(stream->device, to, from, bytes);
    if (kind == CopyKind::to_host) return memcpy_to_host(stream->device, reinterpret_cast<void*>(to), from, bytes);
    return memcpy_to_device(stream->device, to, reinterpret_cast<const void*>(from), bytes);
}

/// Prints what the kernel printed, however its launch ends.
struct ShowOutput {
    const std::string& text;
    bool wanted;
    ~ShowOutput() {
        if (wanted && !text.empty()) fwrite(text.data(), 1, text.size(), stderr);
    }
};

emu::Check check_of_settings() {
    const std::string& check = settings().check;
    if (check == "off" && settings().check_races) return emu::Check::report;
    return check == "raise" ? emu::Check::raise : check == "report" ? emu::Check::report : emu::Check::off;
}

/// Passes findings of strict mode to the report that collects them. Without one, where nothing is raised, they are
/// printed, once for each instruction.
std::vector<CheckFinding> tell(FunctionHandle& function, const std::vector<lint::Finding>& found, emu::Check check) {
    static Mutex one_at_a_time;
    std::vector<CheckFinding> findings;
    findings.reserve(found.size());
    for (const lint::Finding& finding : found) findings.push_back({finding, function.name, function.module});
    if (findings.empty()) return findings;
    if (const auto& listener = settings().listener) {
        static_cast<Report*>(listener.get())->add(findings);
        return findings;
    }
    std::lock_guard lock(one_at_a_time);
    for (const CheckFinding& one : findings)
        if (check == emu::Check::report && function.shown.emplace(one.finding.pc, one.finding.kind).second)
            fmt::print(stderr, "strict mode: {}\n", one.text());
    return findings;
}

Result<void> module_launch_kernel(FunctionHandle* function, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                                  uint32_t dynamic_lds, StreamHandle* stream, std::span<const uint8_t> arguments,
                                  const LaunchRequest& request, LaunchReport& report) {
    STRATA_TRY(Gpu * g, gpu(function->device));
    emu::LaunchConfig config;
    config.grid = grid;
    config.block = block;
    config.dynamic_lds = dynamic_lds;
    config.threads = settings().emu_threads;
    config.seed = settings().emu_seed;
    config.timed = settings().emu_timed;
    config.sampled = settings().emu_sampled;
    config.sparse = request.sparse;
    config.warm = request.warm;
    config.last_waits = request.last_waits;
    config.read_only = request.read_only;
    config.written = request.written;
    config.in_place = request.in_place;
    config.output = &report.output;
    config.check = check_of_settings();
    config.check_races = settings().check_races;
    config.profiled = settings().profiler != nullptr;
    std::vector<lint::Finding> found;
    config.findings = &found;
    config.over_budget = &report.over_budget;
    const ShowOutput show{report.output, request.shows_output};
    const auto run = [&] {
        try {
            return g->launch(*function->module, function->name, config, arguments);
        } catch (const Interrupted&) {
            (void)tell(*function, found, config.check);
            throw;
        }
    };
    Result<emu::LaunchStats> ran = run();
    LaunchDetails details{{}, tell(*function, found, config.check)};
    STRATA_TRY(emu::LaunchStats stats, std::move(ran));
    stream->own().femtoseconds += static_cast<uint64_t>(std::llround(stats.modelled_ms * 1e12));
    report.wave_instructions = stats.wave_instructions;
    report.modelled_ms = stats.modelled_ms;
    report.profile = std::move(stats.profile);
    details.instructions = std::move(stats.instructions);
    if (!details.instructions.empty() || !details.findings.empty())
        report.details = std::make_shared<LaunchDetails>(std::move(details));
    return {};
}

Result<EventHandle*> event_create(int device) {
    STRATA_TRY_VOID(gpu(device));
    return new EventHandle;
}
Result<void> event_destroy(EventHandle* event) {
    delete event;
    return {};
}
Result<void> event_record(EventHandle* event, StreamHandle* stream) {
    event->at = stream->own().femtoseconds;
    return {};
}
Result<void> event_synchronize(EventHandle*) { return {}; }
Result<bool> event_query(EventHandle*) { return true; }
Result<void> stream_wait_event(StreamHandle* stream, EventHandle* event) {
    if (event->at) stream->own().femtoseconds = std::max(stream->own().femtoseconds, *event->at);
    return {};
}
Result<double> event_elapsed_ms(EventHandle* start, EventHandle* stop) {
    if (!start->at || !stop->at)
        return make_error(ErrorKind::Usage,
                          "hipErrorInvalidHandle: record both events before asking for the time between them");
    return (static_cast<double>(*stop->at) - static_cast<double>(*start->at)) * 1e-12;
}

Result<GraphHandle*> graph_create(int device) {
    STRATA_TRY_VOID(gpu(device));
    return new GraphHandle;
}
Result<void> graph_destroy(GraphHandle* graph) {
    delete graph;
    return {};
}
Result<void> graph_add_kernel(GraphHandle* graph, FunctionHandle* function, std::array<uint32_t, 3> grid,
                              std::array<uint32_t, 3> block, uint32_t dynamic_lds, std::span<const uint8_t> arguments) {
    graph->kernels.push_back({function, grid, block, dynamic_lds, {arguments.begin(), arguments.end()}});
    return {};
}
Result<void> graph_set_arguments(GraphHandle* graph, size_t kernel, std::span<const uint8_t> arguments) {
    graph->kernels.at(kernel).arguments.assign(arguments.begin(), arguments.end());
    return {};
}
Result<void> graph_launch(GraphHandle* graph, StreamHandle* stream) {
    for (const GraphHandle::Kernel& kernel : graph->kernels) {
        LaunchReport report;
        STRATA_TRY_VOID(module_launch_kernel(kernel.function, kernel.grid, kernel.block, kernel.dynamic_lds, stream,
                                             kernel.arguments, {}, report));
    }
    return {};
}

void* host_view(int, DevicePtr memory) { return reinterpret_cast<void*>(memory); }

Result<void> map_host(int device, void* memory, size_t bytes, bool writable) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->map_host(memory, bytes, writable);
}
Result<void> unmap_host(int device, void* memory) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->unmap_host(memory);
}
Result<int> groups_per_unit(FunctionHandle* function, uint32_t block, uint32_t dynamic_lds) {
    STRATA_TRY(Gpu * g, gpu(function->device));
    return g->groups_per_unit(*function->module, function->name, block, dynamic_lds);
}

size_t pooled_bytes(int device) {
    Result<Gpu*> g = gpu(device);
    return g ? (*g)->pooled_bytes() : 0;
}

}  // namespace

Result<DevicePtr> allocate_pages(int device, size_t bytes) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->allocate_pages(bytes);
}
Result<int> share(int device, DevicePtr memory) {
    STRATA_TRY(Gpu * g, gpu(device));
    return g->share(memory);
}

Result<void> permit(int device, void* memory, size_t bytes, std::string_view label, bool readable, bool writable) {
    STRATA_TRY(Gpu * g, gpu(device));
    STRATA_TRY_VOID(g->unmap_host(memory));
    return g->map_virtual(memory, bytes, label, readable, writable);
}

int emulated_device(int device, int copy) { return device + copy * static_cast<int>(isa::archs().size()); }

const HipApi& emulated() {
    static const HipApi api = {
        .provider = "emulated",
        .modelled_time = true,
#define HIP(entry, result, name, parameters) .name = name,
#include "strata/providers/hip_api.def"
#undef HIP
        .device_label = device_label,
        .host_view = host_view,
        .stream_over = stream_over,
        .stream_raw = stream_raw,
        .malloc_repeated = allocate_repeated,
        .map_host = map_host,
        .unmap_host = unmap_host,
        .groups_per_unit = groups_per_unit,
        .pooled_bytes = pooled_bytes,
    };
    return api;
}

}  // namespace strata::providers
