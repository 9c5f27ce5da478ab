#pragma once
#include <bitset>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "strata/asm/emu/check/access_table.h"
#include "strata/asm/emu/check/global_races.h"
#include "strata/asm/emu/check/paths.h"
#include "strata/asm/emu/check/pointers.h"
#include "strata/asm/lint/finding.h"

// Strict mode: asm/lint's rules along the way of every wave, and what only running code shows.
namespace strata::emu {

/// Registers besides v0 that have a value when a wave starts, as its kernel's descriptor asks, by operand code
/// (AMDGPUUsage, "Initial Kernel Execution State").
using GivenScalars = std::bitset<128>;

/// Instructions that are for lanes: where waves came with some, and what is to be said where none did.
struct LanesWanted {
    std::set<uint64_t> with{};  ///< by pc
    lint::Findings without{};
};

/// The findings of a launch. Thread-safe.
class LaunchChecks {
  public:
    struct Setup {
        const Program& program;
        AccessTable& accesses;
        GivenScalars given;
        uint32_t waves = 1;             ///< of a workgroup
        uint32_t lds = 0, scratch = 0;  ///< bytes a workgroup, bytes a lane
        bool raises = false;            ///< the first finding ends the launch
        /// Memory in which races between workgroups are looked for, by one thread; nullptr: none.
        const DeviceMemory* shared = nullptr;
        Pointers* pointers = nullptr;  ///< that share memory; nullptr: none do
    };
    explicit LaunchChecks(const Setup& setup) : setup_(setup) {
        if (setup.shared) races_.emplace(*setup.shared);
    }

    const Setup& setup() const { return setup_; }
    Pointers* pointers() const { return setup_.pointers; }
    GlobalRaces* races() { return races_ ? &*races_ : nullptr; }
    Paths& paths_of_this_thread();
    void add(const lint::Findings& found, const LanesWanted& wanted);
    std::vector<lint::Finding> findings() const;

  private:
    Setup setup_;
    mutable std::mutex mutex_;
    lint::Findings found_;
    LanesWanted wanted_;
    std::map<std::thread::id, Paths> paths_;
    std::optional<GlobalRaces> races_;
};

}  // namespace strata::emu
