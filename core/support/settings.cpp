#include "strata/core/support/settings.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "strata/core/support/error.h"

namespace strata {
namespace {

thread_local std::optional<Settings> scoped;
std::mutex environment_mutex;
std::optional<Settings> environment;

template <class Int>
void read(const char* variable, Int& field, Int low, Int high) {
    const char* text = std::getenv(variable);
    if (!text || !*text) return;
    Int value{};
    auto [end, status] = std::from_chars(text, text + std::strlen(text), value);
    if (status != std::errc{} || *end || value < low || value > high)
        user_error(ErrorKind::Usage, "{}={}: expected a whole number from {} to {}", variable, text, low, high);
    field = value;
}

void read(const char* variable, bool& field) {
    int value = field;
    read(variable, value, 0, 1);
    field = value != 0;
}

void read(const char* variable, std::string& field) {
    if (const char* text = std::getenv(variable); text && *text) field = text;
}

std::string default_cache_dir() {
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg == '/') return std::string(xdg) + "/strata";
    if (const char* home = std::getenv("HOME"); home && *home == '/') return std::string(home) + "/.cache/strata";
    return "/tmp/strata-cache";
}

Settings from_environment() {
    Settings s;
    s.cache_dir = default_cache_dir();
    read("STRATA_DEVICE", s.device);
    read("STRATA_TARGET", s.target);
    if (s.target != "hip" && s.target != "asm")
        user_error(ErrorKind::Usage, "STRATA_TARGET={}: expected hip or asm", s.target);
    read("STRATA_BEAM", s.beam, 0, 1000);
    read("STRATA_DEBUG", s.debug, 0, 7);
    read("STRATA_CACHE_DIR", s.cache_dir);
    read("STRATA_NO_CACHE", s.no_cache);
    read("STRATA_EMU_THREADS", s.emu_threads, 0, 1024);
    read("STRATA_EMU_SEED", s.emu_seed, uint64_t{0}, ~uint64_t{0});
    read("STRATA_EMU_CHECK", s.emu_check);
    read("STRATA_EMU_ORDERED", s.emu_ordered);
    read("STRATA_EMU_FIDELITY", s.emu_fidelity);
    read("STRATA_EMU_BUDGET", s.emu_budget, uint64_t{0}, ~uint64_t{0});
    read("STRATA_EMU_MODEL", s.emu_model);
    return s;
}

}  // namespace

const Settings& settings() {
    if (scoped) return *scoped;
    std::lock_guard lock(environment_mutex);
    if (!environment) environment = from_environment();
    return *environment;
}

void reload_environment() {
    std::lock_guard lock(environment_mutex);
    environment = from_environment();
}

ScopedSettings::ScopedSettings(Settings next) : previous_(std::move(scoped)) { scoped = std::move(next); }
ScopedSettings::~ScopedSettings() { scoped = std::move(previous_); }

}  // namespace strata
