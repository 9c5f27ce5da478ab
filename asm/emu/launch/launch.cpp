#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "strata/asm/emu/launch/abi.h"
#include "strata/asm/emu/launch/state.h"
#include "strata/asm/emu/report/use.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

constexpr uint64_t kDefaultBudget = 1ull << 33;
constexpr size_t kKernargOffset = 256;     // in the launch area; the dispatch packet is at its start
constexpr uint32_t kDynamicStack = 16384;  // scratch bytes a lane of kernels whose stack depth is not known

/// Workgroups to measure: the first two, one in the middle and the last.
std::vector<uint64_t> representatives(uint64_t groups) {
    std::vector<uint64_t> numbers = {0, 1, groups / 2, groups - 1};
    std::erase_if(numbers, [&](uint64_t number) { return number >= groups; });
    std::ranges::sort(numbers);
    numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
    return numbers;
}

/// One thread alone gives workgroups an order that the seed fixes.
int thread_count(const LaunchConfig& config, Order order) {
    if (order == Order::decides || (order == Order::decides_floats && settings().emu_ordered)) return 1;
    int threads = config.threads ? config.threads : settings().emu_threads;
    return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

uint64_t budget(const LaunchConfig& config) {
    if (config.max_instructions) return config.max_instructions;
    return settings().emu_budget ? settings().emu_budget : kDefaultBudget;
}

}  // namespace

Result<void> Gpu::State::reserve_launch_area(size_t bytes) {
    if (bytes <= launch_area_size) return {};
    size_t size = std::max<size_t>((bytes + 4095) / 4096 * 4096, 16384);
    STRATA_TRY(launch_area, shared->memory.reserve(size));
    launch_area_size = size;
    return {};
}

Result<LaunchStats> Gpu::launch(const Module& module, std::string_view kernel_name, const LaunchConfig& config,
                                std::span<const uint8_t> arguments) {
    const Module::State& loaded = *module.state_;
    if (loaded.shared != state_->shared) return make_error(ErrorKind::Usage, "the module belongs to another device");
    auto it = loaded.kernels.find(kernel_name);
    if (it == loaded.kernels.end()) {
        std::string known;
        for (const auto& [name, kernel] : loaded.kernels) known += (known.empty() ? "" : ", ") + name;
        return make_error(ErrorKind::Usage, "the module has no kernel '{}'; it has: {}", kernel_name, known);
    }
    const LoadedKernel& kernel = it->second;
    const isa::KernelDescriptor& descriptor = kernel.info->descriptor;
    STRATA_TRY_VOID(check_dimensions(*kernel.info, *state_->model, kernel.program->vgprs(), config));
    STRATA_TRY(std::vector<uint8_t> kernarg, kernarg_segment(*kernel.info, {config, arguments}));

    std::lock_guard one_launch(state_->launch_mutex);
    std::lock_guard lock(state_->shared->mutex);
    STRATA_TRY_VOID(state_->reserve_launch_area(kKernargOffset + kernarg.size() + 64));
    const uint64_t packet_at = state_->launch_area, kernarg_at = packet_at + kKernargOffset;
    auto packet = dispatch_packet(kernel, config, kernarg_at);
    memcpy(reinterpret_cast<void*>(packet_at), packet.data(), packet.size());
    std::ranges::copy(kernarg, reinterpret_cast<uint8_t*>(kernarg_at));
    DeviceMemory& memory = state_->shared->memory;
    memory.add({packet_at, packet_at + packet.size(), "dispatch packet", false});
    // Scalar loads of arguments may be widened to 16 bytes and more; their tail is never used.
    memory.add({kernarg_at, kernarg_at + (kernarg.size() + 63) / 64 * 64, "kernel arguments", false});

    Plan plan;
    plan.launch.memory = &memory;
    plan.launch.program = kernel.program.get();
    plan.launch.kernel = kernel.info->name;
    plan.launch.object = &module.state_->object;
    plan.launch.text_address = kernel.program->address() - module.state_->base;
    plan.launch.strict = settings().emu_check;
    plan.entry = kernel.entry;
    plan.lanes = kernel.program->wave_size();
    plan.vgprs = kernel.program->vgprs();
    plan.grid = config.grid;
    plan.lds = descriptor.group_segment_fixed_size + config.dynamic_lds;
    plan.scratch = std::max(descriptor.private_segment_fixed_size, kernel.info->scratch);
    if (descriptor.dynamic_stack() || kernel.info->uses_dynamic_stack)
        plan.scratch = std::max(plan.scratch, kDynamicStack);
    const isa::ArchInfo& arch = isa::info(state_->arch);
    plan.mode =
        effective_mode(arch.family, descriptor.float_mode() | uint32_t{descriptor.dx10_clamp()} << 8 |
                                        uint32_t{descriptor.ieee_mode()} << 9 | (descriptor.rsrc1 >> 26 & 1) << 23);
    plan.max_instructions = budget(config);
    plan.seed = config.seed ? config.seed : settings().emu_seed;
    pack_work_items(plan, config.block, descriptor.workitem_id_dims());
    pack_scalars(plan, descriptor, arch, packet_at, kernarg_at, kernarg);

    plan.measured_code = kernel.measured.get();
    plan.counted = config.counted || settings().emu_fidelity;
    if (plan.counted) kernel.measured->clear_counts();
    std::vector<GroupTiming> timings;
    if (config.timed) {
        plan.measured = representatives(plan.groups());
        for (size_t i = 0; i < plan.measured.size(); ++i)
            timings.emplace_back(*kernel.measured, *state_->model, memory, static_cast<int>(plan.waves), plan.vgprs);
        plan.timings = &timings;
    }
    auto start = std::chrono::steady_clock::now();
    STRATA_TRY(Outcome outcome, state_->pool.run(plan, thread_count(config, kernel.program->order())));
    LaunchStats stats;
    stats.wall_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    stats.wave_instructions = outcome.instructions;
    stats.waves = outcome.waves;
    if (plan.counted)
        stats.instructions =
            instructions_of(*kernel.program, [&](const Chunk& chunk) { return kernel.measured->counts(chunk); });
    if (config.timed) {
        Occupancy shape{plan.groups(), plan.waves, plan.lds, plan.vgprs, plan.lanes, (descriptor.rsrc1 >> 29 & 1) != 0};
        double cycles = estimate_cycles(*state_->model, arch, shape, timings);
        stats.modelled_cycles = static_cast<uint64_t>(cycles);
        stats.modelled_ms = cycles / state_->model->mhz / 1000;
    }
    return stats;
}

}  // namespace strata::emu
