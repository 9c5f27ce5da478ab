#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// What `strata.config(...)` and the STRATA_* variables set. Precedence: config, then environment, then default.
struct Settings {
    std::string device;          ///< STRATA_DEVICE: "emu:gfx1100", "hip", ...; empty = pick
    std::string target = "hip";  ///< STRATA_TARGET: hip | asm
    int beam = 0;                ///< STRATA_BEAM: width, 0 = off
    int debug = 0;               ///< STRATA_DEBUG: 0-7
    std::string cache_dir;       ///< STRATA_CACHE_DIR: absolute; default is the user's cache folder + /strata
    bool no_cache = false;       ///< STRATA_NO_CACHE
    int emu_threads = 0;         ///< STRATA_EMU_THREADS: 0 = all cores
    uint64_t emu_seed = 0;       ///< STRATA_EMU_SEED: order of waves
    bool emu_check = true;       ///< STRATA_EMU_CHECK: local and scratch accesses out of range are faults, not zeros
    bool emu_ordered = false;    ///< STRATA_EMU_ORDERED: same bits of float atomics whatever emu_threads
    bool emu_fidelity = false;   ///< STRATA_EMU_FIDELITY: count which instructions each launch runs
    uint64_t emu_budget = 0;     ///< STRATA_EMU_BUDGET: instructions of a wave before it is stopped; 0 = 2^33
    std::string emu_model;       ///< STRATA_EMU_MODEL: 7900xtx, w7900, ...; empty = the arch's usual card
};

/// The settings in force on this thread. Throws a Usage Exception when a variable holds something unusable.
const Settings& settings();

/// Overrides the settings of this thread for a scope; scopes nest.
class ScopedSettings {
  public:
    explicit ScopedSettings(Settings next);
    ~ScopedSettings();
    ScopedSettings(const ScopedSettings&) = delete;
    ScopedSettings& operator=(const ScopedSettings&) = delete;

  private:
    std::optional<Settings> previous_;
};

/// Reads the environment again (tests, and Python's os.environ at import).
void reload_environment();

}  // namespace strata
