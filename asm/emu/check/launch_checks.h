#pragma once
#include <bitset>
#include <map>
#include <mutex>
#include <thread>

#include "strata/asm/emu/check/access_table.h"
#include "strata/asm/emu/check/paths.h"
#include "strata/asm/lint/finding.h"

// Strict mode: asm/lint's rules along the way of every wave, and what only running code shows.
namespace strata::emu {

/// What a wave finds beside v0 when it starts, as its kernel's descriptor asks, by operand code (AMDGPUUsage, "Initial Kernel
/// Execution State").
using GivenScalars = std::bitset<128>;

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
    };
    explicit LaunchChecks(const Setup& setup) : setup_(setup) {}

    const Setup& setup() const { return setup_; }
    Paths& paths_of_this_thread();
    void add(const lint::Findings& found);
    std::vector<lint::Finding> findings() const;

  private:
    Setup setup_;
    mutable std::mutex mutex_;
    lint::Findings found_;
    std::map<std::thread::id, Paths> paths_;
};

}  // namespace strata::emu
