#include "strata/bindings/hip/state_p.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>

#include "strata/core/support/settings.h"

namespace strata::hip::library {
namespace {

thread_local int current_device = 0;
thread_local Code last_error = hipSuccess;
std::atomic<Code> lost_by{hipSuccess};

/// All that the emulator has, or the one that STRATA_DEVICE names: "emu:gfx942".
std::vector<int> chosen_devices() {
    constexpr std::string_view kPrefix = "emu:";
    const std::string_view named = settings().device;
    const std::string_view wanted = named.starts_with(kPrefix) ? named.substr(kPrefix.size()) : "";
    std::vector<int> out;
    for (int i = 0; i < emulator().device_count().value(); ++i)
        if (wanted.empty() || emulator().device_label(i) == wanted) out.push_back(i);
    return out;
}

}  // namespace

const std::vector<int>& devices() {
    static const std::vector<int> chosen = chosen_devices();
    return chosen;
}

int current() { return devices().at(static_cast<size_t>(current_device)); }

Code make_current(int device) {
    if (device < 0 || static_cast<size_t>(device) >= devices().size()) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
}

Code code_of(const Error& error, Code otherwise) {
    switch (error.kind) {
        case ErrorKind::MemoryFault: return hipErrorIllegalAddress;
        case ErrorKind::Launch: return hipErrorInvalidConfiguration;
        case ErrorKind::Check: return hipErrorLaunchFailure;
        default: return otherwise;
    }
}

void tell(std::string_view call, const Error& error) { fmt::print(stderr, "strata: {}: {}\n", call, error.message); }

void lose(Code code) { lost_by = code; }
Code lost() { return lost_by; }

int finish(Code code) {
    if (code != hipSuccess) last_error = code;
    return code;
}
Code take_last_error() { return std::exchange(last_error, lost()); }

}  // namespace strata::hip::library
