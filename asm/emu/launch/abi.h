#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "strata/asm/emu/gpu.h"
#include "strata/asm/emu/launch/kernel.h"
#include "strata/asm/emu/launch/plan.h"
#include "strata/asm/emu/observe/model.h"

namespace strata::emu {

/// Bytes of scratch that a lane of such a wave can have.
uint32_t most_scratch(const isa::ArchInfo& arch, int lanes);

/// Layout of a kernarg segment (AMDGPUUsage, "Kernarg Segment"): explicit bytes, then hidden arguments by kind.
struct LaunchArguments {
    const LaunchConfig& config;
    std::span<const uint8_t> explicit_bytes;
};
/// Size of the explicit part.
uint64_t explicit_size(const isa::KernelInfo& kernel);
Result<std::vector<uint8_t>> kernarg_segment(const isa::KernelInfo& kernel, const LaunchArguments& arguments);
/// hsa_kernel_dispatch_packet_t.
std::array<uint8_t, 64> dispatch_packet(const LoadedKernel& kernel, const LaunchConfig& config, uint64_t kernarg);
/// Grid, block, LDS and registers against the limits of the arch and the kernel.
Result<void> check_dimensions(const isa::KernelInfo& kernel, const Model& model, int vgprs, const LaunchConfig& config);
/// Where the code starts, from the kernel's entry: after the part that loads the arguments, if they are preloaded.
uint64_t entry_offset(const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch);
/// Initial SGPRs: the user SGPRs in the order of the descriptor's enable bits, then those of the system; RDNA4 has the
/// workgroup's ids in TTMPs. `arguments` is the kernarg segment.
void pack_scalars(Plan& plan, const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch, uint64_t packet,
                  uint64_t kernarg, std::span<const uint8_t> arguments);
/// EXEC and packed work-item ids of every wave of a block.
void pack_work_items(Plan& plan, const std::array<uint32_t, 3>& block, int dims);

}  // namespace strata::emu
