#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/emu/profile.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/lint/finding.h"
#include "strata/asm/object/code_object.h"

namespace strata::emu {

using DeviceAddress = uint64_t;

/// Statistics of one launch. Time is modelled (cycles of the named GPU), never measured.
struct LaunchStats {
    uint64_t wave_instructions = 0;
    uint64_t waves = 0;
    uint64_t modelled_cycles = 0;
    double modelled_ms = 0;
    double wall_ms = 0;
    std::vector<InstructionUse> instructions;  ///< of the kernel, with how often each ran: if LaunchConfig::counted
    std::shared_ptr<const LaunchProfile> profile = {};  ///< if LaunchConfig::profiled
};

/// How strict mode reports its findings.
enum class Check : uint8_t {
    off,
    report,  ///< keeps it
    raise    ///< ends the launch at the first
};

struct LaunchConfig {
    std::array<uint32_t, 3> grid{1, 1, 1};   ///< workgroups, as in hipModuleLaunchKernel
    std::array<uint32_t, 3> block{1, 1, 1};  ///< work-items of a workgroup
    uint32_t dynamic_lds = 0;                ///< bytes
    uint64_t max_instructions = 0;           ///< a wave's budget; 0 = settings().emu_budget, then 2^33
    int threads = 0;                         ///< 0 = settings().emu_threads, then all cores
    /// Decides the order of waves, of workgroups too if `timed` is off: same seed, same bits, float atomics aside.
    uint64_t seed = 0;
    /// Run the timing model on representative workgroups, whose waves take turns as in hardware and not by the seed.
    /// Values that depend on the order of a workgroup's waves may differ from an untimed launch.
    bool timed = true;
    /// Run those workgroups alone that the timing model measures: what others would write stays as it was. Where they
    /// do not all do as much, some more run, from which the work of all is estimated.
    bool sampled = false;
    /// Runs the first of those, the last and one between: enough to see what a kernel computes, and how far from
    /// another its time is.
    bool sparse = false;
    /// Time the launch with what earlier launches that ask for it left in L2 and the last-level cache; else both are
    /// empty.
    bool warm = false;
    /// The workgroup that starts last starts when all others are done: it is the one that finds itself the last to
    /// come. The order of the others decides nothing.
    bool last_waits = false;
    std::string* output = nullptr;  ///< gets what the kernel prints, also of a launch that ends in an error
    Check check = Check::off;
    bool check_races = false;  ///< strict mode looks at what workgroups do to each other's memory, too, on one thread
    std::vector<lint::Finding>* findings =
        nullptr;                  ///< gets what strict mode finds, also if the launch ends in an error
    bool counted = false;         ///< count what runs, at some tens of nanoseconds a wave instruction
    bool* over_budget = nullptr;  ///< gets whether the launch was ended since a wave ran as many instructions as it may
    /// Addresses in allocations that the kernel may only read, unless one of those that it may write lies in them too.
    std::vector<DeviceAddress> read_only = {}, written = {};
    /// True if the kernel may write by one pointer bytes that it reads by another. The planner of its launches has
    /// proved that it reads them before it writes them. Else strict mode holds it to what its pointers promise.
    bool in_place = false;
    bool profiled = false;  ///< keep what the timing model finds out on its way; without effect unless `timed`
};

class Module;

/// One emulated GPU: device memory and loaded code. Thread-safe; launches of one Gpu run one after the other.
class Gpu {
  public:
    explicit Gpu(isa::Arch arch, std::string_view model = {});
    ~Gpu();
    Gpu(const Gpu&) = delete;

    isa::Arch arch() const;
    std::string_view model() const;  ///< "7900xtx", ...: whose clock and widths the timing model uses

    int units() const;            ///< compute units of that GPU
    size_t memory_bytes() const;  ///< as many as it has; no more can be allocated
    /// The card's size, as the timing model sees it.
    struct Card {
        int clock_khz = 0;
        size_t l2_bytes = 0;
        double memory_gbs = 0;  ///< 10^9 bytes a second
        int waves_per_unit = 0;
        double launch_us = 0, next_launch_us = 0;
    };
    Card card() const;

    /// Device memory: zero-size is allowed. Addresses lie in a reserved range of the host and may be read there.
    Result<DeviceAddress> allocate(size_t bytes, std::string_view label = {});
    /// The same, filled with a pattern over and over. One of whole pages takes the host's memory once, until what it
    /// fills is written to.
    Result<DeviceAddress> allocate_repeated(size_t bytes, std::span<const uint8_t> pattern);
    /// In pages of its own, which share() can show to other processes.
    Result<DeviceAddress> allocate_pages(size_t bytes);
    /// From now on such memory is a file of the host, until it is freed, when this closes it.
    Result<int> share(DeviceAddress address);
    Result<void> free(DeviceAddress address);
    Result<void> read(void* to, DeviceAddress from, size_t bytes) const;
    Result<void> write(DeviceAddress to, const void* from, size_t bytes);
    Result<void> fill(DeviceAddress to, uint8_t value, size_t bytes);
    Result<void> copy(DeviceAddress to, DeviceAddress from, size_t bytes);
    /// Memory of the host that kernels may use at its own address, until unmap_host. A second call with the same range
    /// changes the permission. Where pages of it go, a kernel that uses them faults.
    Result<void> map_host(void* memory, size_t bytes, bool writable = true);
    Result<void> unmap_host(void* memory);
    /// The same for addresses that a program has mapped by itself. Messages name them by `label`. Kernels that use
    /// them fault where they are neither readable nor writable.
    Result<void> map_virtual(void* memory, size_t bytes, std::string_view label, bool readable, bool writable);
    size_t allocated_bytes() const;
    size_t pooled_bytes() const;  ///< of freed memory that is not given back to the host yet

    /// Loads a code object: every instruction is decoded here; one that cannot be executed is refused by name.
    Result<std::shared_ptr<Module>> load(std::span<const uint8_t> code_object);

    /// Runs a kernel to its end. `arguments` is the explicit part of the kernarg segment; hidden arguments are filled
    /// from the metadata. Errors: Launch (dimensions, LDS, registers, argument size), MemoryFault (names kernel, pc,
    /// disassembly, wave, lane, address, nearest allocation), Unsupported.
    Result<LaunchStats> launch(const Module& module, std::string_view kernel, const LaunchConfig& config,
                               std::span<const uint8_t> arguments);
    /// Workgroups of `block` work-items that a compute unit holds at once; 0: not one fits.
    Result<int> groups_per_unit(const Module& module, std::string_view kernel, uint32_t block,
                                uint32_t dynamic_lds) const;

  private:
    static Result<void> copied(void* to, const void* from, size_t bytes);
    struct State;
    std::unique_ptr<State> state_;
};

/// Decoded code of one code object on one Gpu.
class Module {
  public:
    ~Module();
    const isa::CodeObject& object() const;
    Result<DeviceAddress> symbol(std::string_view name, size_t* size = nullptr) const;  ///< device global

  private:
    friend class Gpu;
    struct State;
    explicit Module(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace strata::emu
