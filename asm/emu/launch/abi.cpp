#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "strata/asm/emu/launch/abi.h"

// Registers and arguments at a kernel's start (AMDGPUUsage, "Initial Kernel Execution State" and "Kernarg Segment").
namespace strata::emu {
namespace {

/// A hidden argument: its value_kind of the metadata and the value that belongs there.
struct Hidden {
    std::string_view kind;
    uint64_t (*value)(const LaunchConfig& config);
};
constexpr Hidden kHidden[] = {
    {"hidden_block_count_x", [](const LaunchConfig& c) { return uint64_t{c.grid[0]}; }},
    {"hidden_block_count_y", [](const LaunchConfig& c) { return uint64_t{c.grid[1]}; }},
    {"hidden_block_count_z", [](const LaunchConfig& c) { return uint64_t{c.grid[2]}; }},
    {"hidden_group_size_x", [](const LaunchConfig& c) { return uint64_t{c.block[0]}; }},
    {"hidden_group_size_y", [](const LaunchConfig& c) { return uint64_t{c.block[1]}; }},
    {"hidden_group_size_z", [](const LaunchConfig& c) { return uint64_t{c.block[2]}; }},
    {"hidden_grid_dims", [](const LaunchConfig&) { return uint64_t{3}; }},
    {"hidden_dynamic_lds_size", [](const LaunchConfig& c) { return uint64_t{c.dynamic_lds}; }},
    {"hidden_private_base", [](const LaunchConfig&) { return uint64_t{kPrivateAperture}; }},
    {"hidden_shared_base", [](const LaunchConfig&) { return uint64_t{kSharedAperture}; }},
    // A grid counts whole workgroups, so remainders are 0; so are offsets, and queues and buffers that do not exist.
};

constexpr uint64_t kMostArguments = uint64_t{1} << 20;  // bytes; more than any compiler makes
constexpr size_t kMaxUserSgprs = 32;
constexpr size_t kFlatScratch = 102;  // FLAT_SCRATCH of gfx9

bool is_hidden(const isa::KernelArg& arg) { return arg.value_kind.starts_with("hidden_"); }

}  // namespace

uint32_t most_scratch(const isa::ArchInfo& arch, int lanes) {
    return static_cast<uint32_t>(arch.wave_scratch / lanes) / 4 * 4;
}

uint64_t explicit_size(const isa::KernelInfo& kernel) {
    if (kernel.args.empty()) return kernel.kernarg_size;
    uint64_t size = 0;
    for (const isa::KernelArg& arg : kernel.args)
        if (!is_hidden(arg)) size = std::max(size, uint64_t{arg.offset} + arg.size);
    return size;
}

Result<std::vector<uint8_t>> kernarg_segment(const isa::KernelInfo& kernel, const LaunchArguments& arguments) {
    const uint64_t wanted = explicit_size(kernel);
    const uint64_t most = std::max<uint64_t>({kernel.kernarg_size, kernel.descriptor.kernarg_size, wanted});
    if (most > kMostArguments)
        return make_error(ErrorKind::Launch, "kernel '{}' asks for {} bytes of arguments; a launch has at most {}",
                          kernel.name, most, kMostArguments);
    size_t given = arguments.explicit_bytes.size();
    if (given != wanted && given != (wanted + 7u) / 8 * 8) {  // a struct of the arguments may be padded at its end
        auto count = std::ranges::count_if(kernel.args, [](const isa::KernelArg& arg) { return !is_hidden(arg); });
        return make_error(ErrorKind::Launch,
                          "kernel '{}' takes {} bytes of arguments ({} parameters), {} bytes were given", kernel.name,
                          wanted, count, given);
    }
    std::vector<uint8_t> segment(std::max<size_t>({kernel.kernarg_size, kernel.descriptor.kernarg_size, given}));
    std::ranges::copy(arguments.explicit_bytes, segment.begin());
    for (const isa::KernelArg& arg : kernel.args) {
        if (!is_hidden(arg) || size_t{arg.offset} + arg.size > segment.size()) continue;
        auto it = std::ranges::find(kHidden, arg.value_kind, &Hidden::kind);
        uint64_t value = it == std::end(kHidden) ? 0 : it->value(arguments.config);
        memcpy(segment.data() + arg.offset, &value, std::min<size_t>(arg.size, 8));
    }
    return segment;
}

std::array<uint8_t, 64> dispatch_packet(const LoadedKernel& kernel, const LaunchConfig& config, uint64_t kernarg) {
    std::array<uint8_t, 64> packet{};
    auto put = [&](size_t offset, auto value) { memcpy(packet.data() + offset, &value, sizeof value); };
    put(0, uint16_t{2});  // header: kernel dispatch
    put(2, uint16_t{3});  // dimensions
    for (size_t dim = 0; dim < 3; ++dim) {
        put(4 + 2 * dim, static_cast<uint16_t>(config.block[dim]));
        put(12 + 4 * dim, config.grid[dim] * config.block[dim]);
    }
    put(24, kernel.info->descriptor.private_segment_fixed_size);
    put(28, kernel.info->descriptor.group_segment_fixed_size + config.dynamic_lds);
    put(32, kernel.descriptor);
    put(40, kernarg);
    return packet;
}

Result<void> check_dimensions(const isa::KernelInfo& kernel, const Model& model, int vgprs,
                              const LaunchConfig& config) {
    const isa::ArchInfo& arch = arch_of(model);
    constexpr std::string_view axes[] = {"x", "y", "z"};
    auto refuse = [&]<class... Args>(fmt::format_string<Args...> text, Args&&... args) {
        return make_error(ErrorKind::Launch, "kernel '{}': {}", kernel.name,
                          fmt::format(text, std::forward<Args>(args)...));
    };
    uint64_t items = 1;
    for (size_t dim = 0; dim < 3; ++dim) {
        uint32_t grid = config.grid[dim], block = config.block[dim];
        if (grid == 0) return refuse("grid.{} is 0; every dimension of a grid is at least 1", axes[dim]);
        if (block == 0) return refuse("block.{} is 0; every dimension of a block is at least 1", axes[dim]);
        if (block > 1024) return refuse("block.{} is {}, the limit is 1024", axes[dim], block);
        uint32_t limit = dim == 0 ? 0x7fffffff : 0xffff;
        if (grid > limit) return refuse("grid.{} is {}, the limit is {}", axes[dim], grid, limit);
        if (uint64_t{grid} * block > 0xffffffff)
            return refuse("grid.{0} * block.{0} is {1}, the limit is {2}", axes[dim], uint64_t{grid} * block,
                          0xffffffffu);
        items *= block;
    }
    if (items > static_cast<uint64_t>(arch.max_block))
        return refuse("a block of {} x {} x {} has {} work-items, the limit is {}", config.block[0], config.block[1],
                      config.block[2], items, arch.max_block);
    if (kernel.max_block && items > kernel.max_block)
        return refuse(
            "a block of {} work-items, but the kernel was compiled for at most {} (amdgpu_flat_work_group_size, "
            "__launch_bounds__)",
            items, kernel.max_block);
    uint64_t lds = uint64_t{kernel.descriptor.group_segment_fixed_size} + config.dynamic_lds;
    if (lds > static_cast<uint64_t>(arch.lds_bytes))
        return refuse("{} bytes of local memory ({} static, {} dynamic), the limit of a workgroup is {}", lds,
                      kernel.descriptor.group_segment_fixed_size, config.dynamic_lds, arch.lds_bytes);
    const uint32_t scratch = std::max(kernel.descriptor.private_segment_fixed_size, kernel.scratch);
    if (const int lanes = kernel.descriptor.wave_size(arch); scratch > most_scratch(arch, lanes))
        return refuse("{} bytes of scratch a lane, the limit of a wave of {} lanes is {}", scratch, lanes,
                      most_scratch(arch, lanes));
    // A workgroup sits on one CU, or on the two of a WGP when WGP_MODE (rsrc1 bit 29 of RDNA) is set.
    const int wave_size = kernel.descriptor.wave_size(arch);
    int granule = wave_size == 32 ? arch.vgpr_granule32 : arch.vgpr_granule64;
    int allocated = std::max((vgprs + granule - 1) / granule * granule, granule);
    int per_simd = std::min(model.unit().waves, model.unit().registers * 32 / wave_size / allocated);
    const bool half = model.unit().cus > 1 && !(kernel.descriptor.rsrc1 >> 29 & 1);
    int simds = isa::Unit::kSimds / (half ? 2 : 1);
    uint64_t waves = (items + static_cast<uint64_t>(wave_size) - 1) / static_cast<uint64_t>(wave_size);
    uint64_t fit = static_cast<uint64_t>(per_simd) * static_cast<uint64_t>(simds);
    if (waves > fit)
        return refuse(
            "a block of {} work-items is {} waves of {} vector registers each; only {} such waves fit: use a block of "
            "at most {}",
            items, waves, allocated, fit, fit * static_cast<uint64_t>(wave_size));
    return {};
}

namespace {

/// gfx9's descriptor of a wave's scratch: a window of addresses that stands for it. Lanes are interleaved by dword
/// (element size 4, index stride 64, the lane's number added).
constexpr uint32_t kScratchBuffer[4] = {0, static_cast<uint32_t>(kScratchWindow >> 32) | 1u << 31, 0xffffffff,
                                        1u << 23 | 3u << 21};

}  // namespace

bool has_kernarg_preload(const isa::ArchInfo& arch) {
    return arch.family == isa::Family::cdna3 || arch.family == isa::Family::cdna2;
}

uint64_t entry_offset(const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch) {
    return has_kernarg_preload(arch) && (descriptor.kernarg_preload & 127) ? 256 : 0;
}

void pack_scalars(Plan& plan, const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch, uint64_t packet,
                  uint64_t kernarg, std::span<const uint8_t> arguments) {
    size_t next = 0;
    const auto give = [&](uint32_t value) {
        plan.given.set(next);
        plan.scalars[next++] = value;
    };
    for (size_t trap = isa::code::ttmp0; trap < isa::code::null; ++trap) plan.given.set(trap);
    auto add = [&](bool enabled, std::initializer_list<uint32_t> values) {
        if (!enabled) return;
        for (uint32_t value : values)
            if (next < kMaxUserSgprs) give(value);
    };
    auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
    auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
    add(descriptor.private_segment_buffer(),
        {kScratchBuffer[0], kScratchBuffer[1], kScratchBuffer[2], kScratchBuffer[3]});
    add(descriptor.dispatch_ptr(), {low(packet), high(packet)});
    add(descriptor.queue_ptr(), {0, 0});
    add(descriptor.kernarg_ptr(), {low(kernarg), high(kernarg)});
    add(descriptor.dispatch_id(), {0, 0});
    add(descriptor.flat_scratch_init(), {low(kScratchWindow), high(kScratchWindow)});
    add(descriptor.private_segment_size(), {plan.scratch});
    const size_t count = has_kernarg_preload(arch) ? descriptor.kernarg_preload & 127 : 0;
    const size_t first = size_t{4} * (descriptor.kernarg_preload >> 7 & 511);
    for (size_t i = 0; i < count; ++i) {
        uint32_t value = 0;
        if (first + 4 * i + 4 <= arguments.size()) memcpy(&value, arguments.data() + first + 4 * i, 4);
        add(true, {value});
    }
    next = std::max<size_t>(next, static_cast<size_t>(descriptor.user_sgprs()));

    plan.ids_in_ttmp = arch.family == isa::Family::rdna4;
    if (plan.ids_in_ttmp) return;
    for (int dim = 0; dim < 3; ++dim)
        if (descriptor.workgroup_id(dim)) {
            plan.id_codes[static_cast<size_t>(dim)] = static_cast<int>(next);
            give(0);
        }
    if (descriptor.workgroup_info()) give(plan.waves);
    // The wave's offset in the scratch of all waves: 0, every wave has a window of its own. gfx90a alone has this SGPR;
    // where flat scratch is architected (gfx942), FLAT_SCRATCH holds the wave's base.
    if (arch.family == isa::Family::cdna2 && (descriptor.rsrc2 & 1)) give(0);
    if (arch.family == isa::Family::cdna3) {
        plan.scalars[kFlatScratch] = low(kScratchWindow);
        plan.scalars[kFlatScratch + 1] = high(kScratchWindow);
        plan.given.set(kFlatScratch).set(kFlatScratch + 1);
    }
}

void pack_work_items(Plan& plan, const std::array<uint32_t, 3>& block, int dims) {
    uint32_t items = block[0] * block[1] * block[2], lanes = static_cast<uint32_t>(plan.lanes);
    plan.waves = (items + lanes - 1) / lanes;
    plan.exec.assign(plan.waves, 0);
    plan.v0.assign(size_t{plan.waves} * lanes, 0);
    for (uint32_t item = 0; item < items; ++item) {
        uint32_t x = item % block[0], y = item / block[0] % block[1], z = item / block[0] / block[1];
        plan.exec[item / lanes] |= uint64_t{1} << item % lanes;
        plan.v0[item] = x | (dims > 0 ? y << 10 : 0) | (dims > 1 ? z << 20 : 0);
    }
}

}  // namespace strata::emu
