#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "strata/asm/emu/gpu.h"
#include "strata/asm/emu/memory_p.h"
#include "strata/asm/emu/model_p.h"
#include "strata/asm/emu/plan_p.h"
#include "strata/asm/emu/program_p.h"
#include "strata/asm/emu/timing_p.h"

namespace strata::emu {

/// Device memory with its lock; modules keep it alive after their Gpu.
struct SharedMemory {
    explicit SharedMemory(uint64_t capacity) : memory(capacity) {}
    std::mutex mutex;
    DeviceMemory memory;
};

struct Gpu::State {
    isa::Arch arch;
    const Model* model;
    std::shared_ptr<SharedMemory> shared;
    Pool pool;
    std::mutex launch_mutex;
    uint64_t launch_area = 0;  ///< dispatch packet and kernarg segment of the launch that runs
    size_t launch_area_size = 0;

    State(isa::Arch arch_, const Model* model_);
    Result<void> reserve_launch_area(size_t bytes);
};

/// The executable segment that holds `address` of the object's own address space, or nullptr.
const isa::Segment* code_segment(const isa::CodeObject& object, uint64_t address);

/// A kernel ready to be launched.
struct LoadedKernel {
    const isa::KernelInfo* info = nullptr;
    std::unique_ptr<Program> program;
    std::unique_ptr<MeasuredCode> measured;  ///< for the timing model
    const Op* entry = nullptr;
    uint64_t descriptor = 0;  ///< device address
};

/// Decodes a kernel of an object that was placed at `base`; 0: it was not, and is read from the object itself.
Result<LoadedKernel> decode_kernel(const isa::CodeObject& object, const isa::KernelInfo& kernel, uint64_t base);
/// The kernel's instructions with the counts of its last launch.
std::vector<InstructionUse> executed_instructions(const LoadedKernel& kernel);

struct Module::State {
    isa::CodeObject object;
    std::shared_ptr<SharedMemory> shared;
    uint64_t base = 0;
    size_t size = 0;
    std::vector<uint64_t> parts;  ///< entries in the allocation table
    std::map<std::string, LoadedKernel, std::less<>> kernels;

    Result<void> place(std::string_view label);
    Result<void> decode();
};

/// Layout of a kernarg segment (AMDGPUUsage, "Kernarg Segment"): explicit bytes, then hidden arguments by kind.
struct LaunchArguments {
    const LaunchConfig& config;
    std::span<const uint8_t> explicit_bytes;
};
/// Size of the explicit part.
uint32_t explicit_size(const isa::KernelInfo& kernel);
Result<std::vector<uint8_t>> kernarg_segment(const isa::KernelInfo& kernel, const LaunchArguments& arguments);
/// hsa_kernel_dispatch_packet_t.
std::array<uint8_t, 64> dispatch_packet(const LoadedKernel& kernel, const LaunchConfig& config, uint64_t kernarg);
/// Grid, block, LDS and registers against the limits of the arch and the kernel.
Result<void> check_dimensions(const isa::KernelInfo& kernel, const Model& model, int vgprs, const LaunchConfig& config);
/// Where the code starts, from the kernel's entry: behind the part that loads the arguments, if they are preloaded.
uint64_t entry_offset(const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch);
/// Initial SGPRs: the user SGPRs in the order of the descriptor's enable bits, then those of the system; RDNA4 has the
/// workgroup's ids in TTMPs. `arguments` is the kernarg segment.
void pack_scalars(Plan& plan, const isa::KernelDescriptor& descriptor, const isa::ArchInfo& arch, uint64_t packet,
                  uint64_t kernarg, std::span<const uint8_t> arguments);
/// EXEC and packed work-item ids of every wave of a block.
void pack_work_items(Plan& plan, const std::array<uint32_t, 3>& block, int dims);

}  // namespace strata::emu
