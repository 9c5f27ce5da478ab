#include "strata/hip/module/launch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "strata/asm/isa/launch_limits.h"
#include "strata/core/support/guarded.h"
#include "strata/core/support/settings.h"
#include "strata/hip/module/profile_p.h"
#include "strata/hip/module/registration.h"
#include "strata/hip/stream/event.h"
#include "strata/hip/stream/recording.h"

namespace strata::hip::library {
namespace {

/// Shows a kernel's output, in the order of the program's own.
void show(const std::string& text) {
    if (text.empty()) return;
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
}

Code launch_by_pointer(const void* host, Dim3 grid, Dim3 block, void** parameters, size_t lds, void* stream) {
    Function* function = nullptr;
    if (!stream_of(stream)) return hipErrorInvalidValue;
    const Code code = find_kernel(host, function);
    if (code != hipSuccess) return code;
    if (lds > UINT32_MAX) return hipErrorInvalidValue;
    Launch launch{function, grid, block, static_cast<uint32_t>(lds), {}, host};
    const Code given = arguments_of(*function, parameters, nullptr, launch.arguments);
    return given == hipSuccess ? run_on(stream, std::move(launch)) : given;
}

/// A packet of the queue counts the work-items of a dimension in 32 bits.
bool is_beyond_packet(const Dim3& grid, const Dim3& block) {
    const auto beyond = [](uint32_t blocks, uint32_t items) { return uint64_t{blocks} * items > UINT32_MAX; };
    return beyond(grid.x, block.x) || beyond(grid.y, block.y) || beyond(grid.z, block.z);
}

Code launch_function(void* handle, Dim3 grid, Dim3 block, size_t lds, void* stream, void** parameters, void** extra) {
    const Function* const function = function_at(handle);
    if (!stream_of(stream)) return hipErrorInvalidValue;
    if (!function) return hipErrorInvalidHandle;
    if ((parameters && extra) || lds > UINT32_MAX) return hipErrorInvalidValue;
    Launch launch{function, grid, block, static_cast<uint32_t>(lds)};
    if (const Code code = check_launch(launch); code != hipSuccess)
        return code == hipErrorInvalidConfiguration && !is_beyond_packet(grid, block) ? hipErrorInvalidValue : code;
    Code code = arguments_of(*launch.function, parameters, extra, launch.arguments);
    if (code == hipSuccess) code = run_on(stream, std::move(launch));
    return code == hipErrorInvalidConfiguration ? hipErrorInvalidValue : code;
}

bool is_event_or_none(void* handle) { return !handle || is_event(handle); }

/// Records an event where there is one.
Code mark(void* event, void* stream) { return event ? static_cast<Code>(hipEventRecord(event, stream)) : hipSuccess; }
template <class F>
Code between(void* start, void* stop, void* stream, F&& launch) {
    if (!is_event_or_none(start) || !is_event_or_none(stop)) return hipErrorInvalidValue;
    Code code = mark(start, stream);
    if (code == hipSuccess) code = launch();
    return code == hipSuccess ? mark(stop, stream) : code;
}

/// By a list of kinds, each with what it is, that kEnd ends. Words after the arguments are not read.
Code packed_arguments(void** extra, std::vector<uint8_t>& out) {
    const void* bytes = nullptr;
    const void* size_at = nullptr;
    for (;; extra += 2) {
        std::array<void*, 2> entry{};
        if (!copy_guarded(entry.data(), extra, sizeof entry[0])) return hipErrorInvalidValue;
        if (address(entry[0]) == kEnd) break;
        if (!copy_guarded(&entry[1], extra + 1, sizeof entry[1])) return hipErrorInvalidValue;
        if (address(entry[0]) == kBufferPointer)
            bytes = entry[1];
        else if (address(entry[0]) == kBufferSize)
            size_at = entry[1];
        else
            return hipErrorInvalidValue;
    }
    size_t size = 0;
    if (!size_at || !copy_guarded(&size, size_at, sizeof size) || (size && !bytes)) return hipErrorInvalidValue;
    return copy_guarded(out.data(), bytes, std::min(size, out.size())) ? hipSuccess : hipErrorInvalidValue;
}

}  // namespace

Code check_cooperative(const Function& function, Dim3 grid, Dim3 block, size_t lds) {
    int at_once = 0;
    if (const Code code = check_launch({&function, grid, block}); code != hipSuccess) return code;
    const Code code = blocks_per_unit(function, static_cast<int>(block.x * block.y * block.z), lds, at_once);
    if (code != hipSuccess) return code;
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    return blocks > static_cast<uint64_t>(at_once) * static_cast<uint64_t>(function.units)
               ? hipErrorCooperativeLaunchTooLarge
               : hipSuccess;
}

Code arguments_of(const Function& function, void** parameters, void** extra, std::vector<uint8_t>& out) {
    out.assign(function.argument_bytes, 0);  // a graph's node gives the place of each
    if (extra) return packed_arguments(extra, out);
    for (const isa::KernelArg& argument : function.kernel.args) {
        if (argument.value_kind.starts_with("hidden_")) break;
        void* from = nullptr;
        if (!parameters || !copy_guarded(&from, parameters++, sizeof from) || !from ||
            !copy_guarded(&out[argument.offset], from, argument.size))
            return hipErrorInvalidValue;
    }
    return hipSuccess;
}

Code check_launch(const Launch& launch) {
    const Dim3 &grid = launch.grid, &block = launch.block;
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return hipErrorInvalidConfiguration;
    const auto& [most_x, most_y, most_z] = isa::kMaxGrid;
    if (grid.x > most_x || grid.y > most_y || grid.z > most_z) return hipErrorInvalidConfiguration;
    const uint64_t items = uint64_t{block.x} * block.y * block.z;
    return items > launch.function->kernel.max_block || is_beyond_packet(grid, block) ? hipErrorInvalidConfiguration
                                                                                      : hipSuccess;
}

Code run(Stream& stream, const Launch& launch) {
    const std::shared_ptr<ModuleHandle> loaded = keep(*launch.function);
    if (!loaded) return hipErrorInvalidHandle;  // a graph's, whose module is unloaded, or by another thread
    const LaunchRequest request{.warm = true, .shows_output = false};
    LaunchReport report;
    std::optional<ScopedSettings> profiled;
    if (profiling()) profiled.emplace(profiled_settings());
    const Result<void> ran = emulator().module_launch_kernel(
        launch.function->handle, {launch.grid.x, launch.grid.y, launch.grid.z},
        {launch.block.x, launch.block.y, launch.block.z}, launch.lds, stream.handle, launch.arguments, request, report);
    show(report.output);
    if (ran) {
        if (profiling()) add_to_profile(launch, report);
        const double work_ms = std::max(0.0, report.modelled_ms - query(stream.device).launch_us / 1000);
        spend_launch(stream, static_cast<Time>(std::llround(work_ms * 1e12)));
        return hipSuccess;
    }
    tell("launch", ran.error());
    if (ran.error().kind == ErrorKind::Launch && !report.over_budget) return hipErrorInvalidConfiguration;
    lose(report.over_budget ? hipErrorLaunchTimeOut : code_of(ran.error(), hipErrorLaunchFailure));
    return hipSuccess;
}

Code run_on(void* handle, Launch launch) {
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (launch.function->device != stream->device) return hipErrorInvalidHandle;
    const Code code = check_launch(launch);
    if (code != hipSuccess) return code;
    if (!stream->records && held_back == 0) return run(*stream, launch);
    if (!stream->records)
        return in_order(*stream, [launch = std::move(launch)](Stream& own) { return run(own, launch); });
    return record(*stream, NodeType::kernel, Details(std::move(launch)));
}

Code blocks_per_unit(const Function& function, int block, size_t lds, int& out) {
    const std::shared_ptr<ModuleHandle> loaded = keep(function);
    if (block <= 0 || lds > UINT32_MAX) return hipErrorInvalidValue;
    if (!loaded) return hipErrorInvalidHandle;
    return give(emulator().groups_per_unit(function.handle, static_cast<uint32_t>(block), static_cast<uint32_t>(lds)),
                &out, hipErrorInvalidValue);
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** parameters, size_t lds, void* stream) {
    return entry("hipLaunchKernel", [&] { return launch_by_pointer(function, grid, block, parameters, lds, stream); });
}
int hipExtLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** parameters, size_t lds, void* stream,
                       void* start, void* stop, int) {
    return entry("hipExtLaunchKernel", [&] {
        return between(start, stop, stream,
                       [&] { return launch_by_pointer(function, grid, block, parameters, lds, stream); });
    });
}
int hipLaunchCooperativeKernel(const void* host, Dim3 grid, Dim3 block, void** parameters, unsigned lds, void* stream) {
    return entry("hipLaunchCooperativeKernel", [&] {
        Function* function = nullptr;
        if (!stream_of(stream)) return hipErrorContextIsDestroyed;
        Code code = find_kernel(host, function);
        if (code == hipSuccess) code = check_cooperative(*function, grid, block, lds);
        return code == hipSuccess ? launch_by_pointer(host, grid, block, parameters, lds, stream) : code;
    });
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned lds, void* stream, void** parameters,
                          void** extra) {
    return entry("hipModuleLaunchKernel", [&] {
        return launch_function(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, lds, stream, parameters,
                               extra);
    });
}
int hipModuleLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds, void* stream,
                                     void** parameters) {
    return entry("hipModuleLaunchCooperativeKernel", [&] {
        const Function* const own = function_at(function);
        if (!stream_of(stream)) return hipErrorInvalidValue;
        if (!own) return hipErrorInvalidHandle;
        const Dim3 grid{grid_x, grid_y, grid_z}, block{block_x, block_y, block_z};
        const Code code = check_cooperative(*own, grid, block, lds);
        return code == hipSuccess ? launch_function(function, grid, block, lds, stream, parameters, nullptr) : code;
    });
}
int hipExtModuleLaunchKernel(void* function, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x,
                             uint32_t block_y, uint32_t block_z, size_t lds, void* stream, void** parameters,
                             void** extra, void* start, void* stop, uint32_t) {
    return entry("hipExtModuleLaunchKernel", [&] {
        if (!stream_of(stream)) return hipErrorInvalidValue;
        const Function* const own = function_at(function);
        if (!own) return hipErrorInvalidHandle;
        if (!items_x || !items_y || !items_z) return hipErrorInvalidValue;
        if (!block_x || !block_y || !block_z) return hipErrorInvalidConfiguration;
        if (check_launch({own, {1, 1, 1}, {block_x, block_y, block_z}}) != hipSuccess) return hipErrorInvalidValue;
        const Dim3 block{std::min(block_x, items_x), std::min(block_y, items_y), std::min(block_z, items_z)};
        if (items_x % block.x || items_y % block.y || items_z % block.z) return hipErrorInvalidValue;
        const Dim3 grid{items_x / block.x, items_y / block.y, items_z / block.z};
        return between(start, stop, stream,
                       [&] { return launch_function(function, grid, block, lds, stream, parameters, extra); });
    });
}
