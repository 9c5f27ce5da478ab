#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "strata/asm/emu/launch/abi.h"
#include "strata/asm/emu/launch/sample.h"
#include "strata/asm/emu/launch/state.h"
#include "strata/asm/emu/observe/estimate.h"
#include "strata/asm/emu/observe/group_timing.h"
#include "strata/asm/emu/report/use.h"
#include "strata/asm/lint/lint.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

constexpr uint64_t kDefaultBudget = 1ull << 33;  // of a wave, and of a launch for each thread (SECURITY.md)
constexpr size_t kKernargOffset = 256;           // in the launch area; the dispatch packet is at its start

/// One thread alone gives workgroups an order that the seed fixes.
int thread_count(const LaunchConfig& config, Order order) {
    if ((order == Order::decides && !config.last_waits) || (order == Order::decides_floats && settings().emu_ordered))
        return 1;
    const int threads = config.threads ? config.threads : settings().emu_threads;
    return threads > 0 ? threads : static_cast<int>(core_count());
}

uint64_t budget(const LaunchConfig& config) {
    if (config.max_instructions) return config.max_instructions;
    return settings().emu_budget ? settings().emu_budget : kDefaultBudget;
}

/// Who raises the budget of a wave means the launch too.
uint64_t launch_budget(const Plan& plan, int threads) {
    if (settings().emu_launch_budget) return settings().emu_launch_budget;
    const uint64_t of_thread = std::max(plan.max_instructions, kDefaultBudget), count = static_cast<uint64_t>(threads);
    return of_thread > ~0ull / count ? ~0ull : of_thread * count;
}

/// A wave runs an instruction at least.
Result<void> check_budget(const Plan& plan) {
    constexpr uint64_t kLeast = 1 + Plan::kWaveCost;
    if (plan.groups_to_run() <= plan.max_of_launch / kLeast / plan.waves) return {};
    return make_error(ErrorKind::Launch,
                      "kernel '{}' over a grid of ({}, {}, {}) workgroups cannot end: {} instructions are a launch's "
                      "budget, and each of its {} waves counts as {} at least. Take a smaller grid, or set a larger "
                      "budget by config(emu_launch_budget=...), STRATA_EMU_LAUNCH_BUDGET",
                      plan.launch.kernel, plan.grid[0], plan.grid[1], plan.grid[2], plan.max_of_launch,
                      plan.groups_to_run() * plan.waves, kLeast);
}

/// Sets the resources of a launch's workgroups, besides their arguments.
void set_resources(Plan& plan, const LoadedKernel& kernel, const LaunchConfig& config, const isa::ArchInfo& arch) {
    const isa::KernelDescriptor& descriptor = kernel.info->descriptor;
    plan.entry = kernel.entry;
    plan.lanes = kernel.program->wave_size();
    plan.vgprs = kernel.program->vgprs();
    plan.grid = config.grid;
    plan.lds = descriptor.group_segment_fixed_size + config.dynamic_lds;
    plan.scratch = scratch_bytes(*kernel.info);
    plan.mode =
        effective_mode(arch.family, descriptor.float_mode() | uint32_t{descriptor.dx10_clamp()} << 8 |
                                        uint32_t{descriptor.ieee_mode()} << 9 | (descriptor.rsrc1 >> 26 & 1) << 23);
    plan.max_instructions = budget(config);
    plan.seed = config.seed ? config.seed : settings().emu_seed;
    pack_work_items(plan, config.block, descriptor.workitem_id_dims());
}

/// Where waves are few, clearing all their registers takes less time than finding out which ones need it.
void clear_registers(Plan& plan, const LoadedKernel& kernel) {
    constexpr uint64_t kFewWaves = 256;
    plan.cleared = plan.groups_to_run() * plan.waves <= kFewWaves ? std::vector<Rows>{{0, plan.vgprs}}
                                                                  : kernel.cleared->of_full_wave();
}

/// A seed orders workgroups too, unless some are measured: modelled time does not depend on it.
void order_groups(Plan& plan, const LaunchConfig& config) {
    const uint64_t groups = plan.groups();
    if (!plan.seed || config.timed || groups < 2) return;
    plan.first_group = hash_mix(plan.seed, 2) % groups;
    plan.group_step = 1 + hash_mix(plan.seed, 3) % (groups - 1);
    while (std::gcd(plan.group_step, groups) != 1) ++plan.group_step;
}

Occupancy shape_of(const Plan& plan, const LoadedKernel& kernel) {
    const isa::KernelDescriptor& descriptor = kernel.info->descriptor;
    return {plan.groups(), plan.waves,     plan.lds, plan.vgprs, descriptor.sgprs(isa::info(kernel.program->arch())),
            plan.lanes,    plan.last_waits};
}

/// The timing model's view of a launch: some workgroups are measured, and what they cost is scaled to the grid.
class Timing {
  public:
    /// caches: as earlier launches left them, none: empty.
    Timing(Plan& plan, const LoadedKernel& kernel, const Model& model, Caches* caches, bool profiled)
        : model_(model), caches_(caches), profiled_(profiled) {
        const std::vector<uint64_t> numbers = representatives(plan.groups());
        groups_.reserve(numbers.size());
        const uint64_t at_once = residency(model, arch_of(model), shape_of(plan, kernel)).groups_at_once;
        const GroupTiming::Place place{
            plan.groups(), std::min(plan.groups(), at_once), static_cast<int>(plan.waves), plan.vgprs, caches,
            profiled};
        for (uint64_t number : numbers)
            plan.of_group[number] = &groups_.emplace_back(*kernel.costs, model, *plan.launch.memory, place);
    }
    /// True if workgroups that were measured have not all run about as many instructions.
    bool differ(const Plan& plan) const {
        constexpr double kAlike = 1.0 / 64;
        double least = 0, most = 0;
        for (const GroupTiming& group : std::span(groups_).first(groups_.size() - (plan.last_waits ? 1 : 0)))
            if (const double ran = group.executed(); ran > 0)
                least = least > 0 ? std::min(least, ran) : ran, most = std::max(most, ran);
        return most > least * (1 + kAlike);
    }
    /// instructions: of a workgroup, on average of all.
    void finish(const Plan& plan, const LoadedKernel& kernel, double instructions, LaunchStats& stats) const {
        const isa::ArchInfo& arch = arch_of(model_);
        const Occupancy shape = shape_of(plan, kernel);
        if (profiled_)
            stats.profile =
                std::make_shared<LaunchProfile>(profile(model_, arch, shape, groups_, instructions, *kernel.program));
        const double cycles = estimate(model_, arch, shape, groups_, instructions).cycles;
        stats.modelled_cycles = static_cast<uint64_t>(cycles);
        stats.modelled_ms = cycles / model_.mhz / 1000;
        if (caches_) caches_->use(uses(model_, groups_, plan.groups()));
    }

  private:
    const Model& model_;
    Caches* caches_;
    bool profiled_;
    std::vector<GroupTiming> groups_;
};

/// Allocations that one launch may not write.
class ReadOnly {
  public:
    ReadOnly(DeviceMemory& memory, const LaunchConfig& config) : memory_(memory) {
        for (const DeviceAddress address : config.read_only) {
            const Allocation* const at = memory.find(address, 0);
            const auto holds = [&](DeviceAddress other) { return other - at->low < at->high - at->low; };
            if (!at || !at->writable || std::ranges::any_of(config.written, holds)) continue;
            starts_.push_back(at->low);
            memory.read_by_launch(at->low, true);
        }
    }
    ~ReadOnly() {
        for (const DeviceAddress start : starts_) memory_.read_by_launch(start, false);
    }
    ReadOnly(const ReadOnly&) = delete;

  private:
    DeviceMemory& memory_;
    std::vector<DeviceAddress> starts_;
};

/// Hands over what was printed, however the launch ends.
struct KeepOutput {
    const Services* services;
    std::string* output;
    ~KeepOutput() {
        if (services && output) *output = services->output();
    }
};

/// Strict mode of a launch: hands over what it found, however the launch ends.
class Checks {
  public:
    Checks(Plan& plan, const LoadedKernel& kernel, const LaunchConfig& config, std::span<const uint8_t> arguments)
        : pointers_(Pointers::of(*kernel.pointers, arguments, *plan.launch.memory, config.in_place)),
          checks_({*kernel.program, one_by_one(config) ? *kernel.shared_accesses : *kernel.accesses, plan.given,
                   plan.waves, plan.lds, plan.scratch, config.check == Check::raise,
                   config.check_races ? plan.launch.memory : nullptr, pointers_.get()}),
          findings_(config.findings) {
        plan.checks = &checks_;
        if (one_by_one(config)) plan.checked = kernel.shared.get();
    }
    ~Checks() {
        if (findings_) *findings_ = checks_.findings();
    }
    Checks(const Checks&) = delete;
    /// The error of a launch that a finding ended.
    Error error(const isa::CodeObject& object, const LoadedKernel& kernel) const {
        const isa::Segment* const text = object.code_at(kernel.info->entry_address);
        return {ErrorKind::Check, fmt::format("kernel '{}': {}", kernel.info->name,
                                              lint::to_text(checks_.findings().front(), object, *text))};
    }
    bool ended_launch() const { return checks_.setup().raises && !checks_.findings().empty(); }

  private:
    /// True if accesses to global memory are looked at.
    bool one_by_one(const LaunchConfig& config) const { return config.check_races || pointers_; }

    std::unique_ptr<Pointers> pointers_;
    LaunchChecks checks_;
    std::vector<lint::Finding>* findings_;
};

double per_group(const Outcome& outcome, const Plan& plan) {
    return static_cast<double>(outcome.instructions) / static_cast<double>(plan.groups_to_run());
}

/// Instructions of a workgroup on average, by more of them than the sample, which are counted and not measured.
Result<double> counted_per_group(Pool& pool, Plan& plan, int threads, Outcome& ran) {
    constexpr uint64_t kCounted = 64;
    const auto all = static_cast<double>(plan.groups()), measured = static_cast<double>(plan.sample.size());
    std::vector<uint64_t> others = spread_over(plan.groups(), kCounted + plan.sample.size());
    std::erase_if(others, [&](uint64_t number) { return std::ranges::binary_search(plan.sample, number); });
    plan.sample = std::move(others);
    if (plan.sample.empty()) return static_cast<double>(ran.instructions) / all;
    plan.of_group.clear();
    const bool last_waits = std::exchange(plan.last_waits, false);
    STRATA_TRY(const Outcome more, pool.run(plan, threads));
    plan.last_waits = last_waits;
    const double sum = static_cast<double>(ran.instructions) + per_group(more, plan) * (all - measured);
    ran.instructions += more.instructions, ran.waves += more.waves;
    return sum / all;
}

/// Runs the plan, observed as the configuration asks.
Result<LaunchStats> run(Pool& pool, Plan& plan, const LoadedKernel& kernel, const Model& model, Caches& caches,
                        const LaunchConfig& config, std::span<const uint8_t> arguments) {
    plan.instrumented = kernel.instrumented.get();
    plan.checked = kernel.checked.get();
    const bool counted = config.counted || settings().emu_fidelity;
    if (counted) {
        kernel.counter->clear();
        plan.observers.push_back(kernel.counter.get());
    }
    std::optional<Timing> timing;
    if (config.timed) timing.emplace(plan, kernel, model, config.warm ? &caches : nullptr, config.profiled);
    const auto start = std::chrono::steady_clock::now();
    const bool alone = plan.services || (config.check_races && config.check != Check::off);
    const int threads = alone ? 1 : thread_count(config, kernel.program->order());
    plan.max_of_launch = launch_budget(plan, threads);
    STRATA_TRY_VOID(check_budget(plan));
    const KeepOutput keep{plan.services, config.output};
    std::optional<Checks> checks;
    if (config.check != Check::off) checks.emplace(plan, kernel, config, arguments);
    Result<Outcome> ran = pool.run(plan, threads);
    Result<double> instructions = ran ? Result<double>(per_group(*ran, plan)) : ran.error();
    if (ran && timing && config.sampled && timing->differ(plan))
        instructions = counted_per_group(pool, plan, threads, *ran);
    if (checks && checks->ended_launch()) return checks->error(*plan.launch.object, kernel);
    if (config.over_budget) *config.over_budget = plan.over_budget;
    if (!instructions) return instructions.error();
    const Outcome& outcome = *ran;
    LaunchStats stats;
    stats.wall_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    stats.wave_instructions = outcome.instructions;
    stats.waves = outcome.waves;
    if (counted)
        stats.instructions =
            instructions_of(*kernel.program, [&](const Chunk& chunk) { return kernel.counter->counts(chunk); });
    if (timing) timing->finish(plan, kernel, *instructions, stats);
    return stats;
}

}  // namespace

Result<void> Gpu::State::reserve_launch_area(size_t bytes) {
    if (bytes <= launch_area_size) return {};
    size_t size = std::max<size_t>((bytes + 4095) / 4096 * 4096, 16384);
    STRATA_TRY(uint64_t area, shared->memory.reserve(size));
    if (launch_area) shared->memory.release(launch_area);
    launch_area = area;
    launch_area_size = size;
    return {};
}

Result<void> Gpu::State::offer_services(Plan& plan, const LoadedKernel& kernel, const LaunchConfig& config,
                                        std::span<uint8_t> kernarg) {
    if (!kernel.services.any()) return {};
    if (!services) services = std::make_unique<Services>(shared->memory);
    if (kernel.services.watched()) plan.services = services.get();
    uint64_t groups = 1, items = 1;
    for (size_t dim = 0; dim < 3; ++dim) {
        groups *= config.grid[dim];
        items *= config.block[dim];
    }
    const auto lanes = static_cast<uint64_t>(kernel.program->wave_size());
    const uint64_t waves = std::min(groups, kMostResidents) * ((items + lanes - 1) / lanes);
    return services->begin(kernel.services, {config.grid, config.block, waves}, kernarg);
}

Result<LaunchArea> Gpu::State::place_arguments(const LoadedKernel& kernel, const LaunchConfig& config,
                                               std::span<const uint8_t> kernarg) {
    STRATA_TRY_VOID(reserve_launch_area(kKernargOffset + kernarg.size() + 64));
    const LaunchArea area{launch_area, launch_area + kKernargOffset};
    const auto packet = dispatch_packet(kernel, config, area.kernarg);
    memcpy(reinterpret_cast<void*>(area.packet), packet.data(), packet.size());
    std::ranges::copy(kernarg, reinterpret_cast<uint8_t*>(area.kernarg));
    shared->memory.add({area.packet, area.packet + packet.size(), "dispatch packet", false});
    // Scalar loads of arguments may be widened to 16 bytes and more; their tail is never used.
    shared->memory.add({area.kernarg, area.kernarg + (kernarg.size() + 63) / 64 * 64, "kernel arguments", false});
    return area;
}

Result<int> Gpu::groups_per_unit(const Module& module, std::string_view kernel_name, uint32_t block,
                                 uint32_t dynamic_lds) const {
    STRATA_TRY(const LoadedKernel* kernel, module.state_->kernel(kernel_name));
    const isa::ArchInfo& arch = isa::info(state_->arch);
    const isa::KernelDescriptor& descriptor = kernel->info->descriptor;
    const auto lanes = static_cast<uint32_t>(kernel->program->wave_size());
    const uint32_t lds = descriptor.group_segment_fixed_size + dynamic_lds;
    if (block == 0 || block > kernel->info->max_block || lds > static_cast<uint32_t>(arch.lds_bytes)) return 0;
    return groups_on_unit(*state_->model, arch,
                          {1, (block + lanes - 1) / lanes, lds, kernel->program->vgprs(), descriptor.sgprs(arch),
                           static_cast<int>(lanes)});
}

Result<LaunchStats> Gpu::launch(const Module& module, std::string_view kernel_name, const LaunchConfig& config,
                                std::span<const uint8_t> arguments) {
    const Module::State& loaded = *module.state_;
    if (loaded.shared != state_->shared) return make_error(ErrorKind::Usage, "the module belongs to another device");
    STRATA_TRY(const LoadedKernel* found, loaded.kernel(kernel_name));
    const LoadedKernel& kernel = *found;
    STRATA_TRY_VOID(check_dimensions(*kernel.info, *state_->model, kernel.program->vgprs(), config));
    STRATA_TRY(std::vector<uint8_t> kernarg, kernarg_segment(*kernel.info, {config, arguments}));

    StoppableLock one_launch(state_->launch_mutex);
    StoppableLock lock(state_->shared->mutex);
    Plan plan;
    STRATA_TRY_VOID(state_->offer_services(plan, kernel, config, kernarg));
    STRATA_TRY(LaunchArea area, state_->place_arguments(kernel, config, kernarg));
    const isa::ArchInfo& arch = isa::info(state_->arch);
    plan.launch.memory = &state_->shared->memory;
    plan.launch.program = kernel.program.get();
    plan.launch.kernel = kernel.info->name;
    plan.launch.object = &loaded.object;
    plan.launch.text_address = kernel.program->address() - loaded.base;
    plan.launch.strict = settings().emu_check || config.check != Check::off;
    set_resources(plan, kernel, config, arch);
    order_groups(plan, config);
    plan.last_waits = config.last_waits;
    if (config.sampled) plan.sample = representatives(plan.groups(), config.sparse);
    clear_registers(plan, kernel);
    plan.launch.groups = plan.groups();
    plan.launch.most_groups =
        std::min(residency(*state_->model, arch, shape_of(plan, kernel)).groups_at_once, kMostResidents);
    pack_scalars(plan, kernel.info->descriptor, arch, area.packet, area.kernarg, kernarg);
    const ReadOnly read_only(state_->shared->memory, config);
    return run(state_->pool, plan, kernel, *state_->model, state_->caches, config, kernarg);
}

}  // namespace strata::emu
