#include "strata/hip/api/state.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>

#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/providers/emulated.h"

namespace strata::hip::library {
namespace {

thread_local int current_device = 0;
thread_local Code error_of_thread = hipSuccess, code_of_last_call = hipSuccess;
std::atomic<Code> lost_by{hipSuccess};
std::atomic<bool (*)(int)> code_check{nullptr};

/// The numbers of a list such as "0,2", up to the first that is none of `count`: HIP_VISIBLE_DEVICES.
std::vector<int> visible(std::string_view list, size_t count) {
    std::vector<int> out;
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        size_t number = 0;
        const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
        if (error != std::errc{} || end != one.data() + one.size() || number >= count) break;
        out.push_back(static_cast<int>(number));
        list.remove_prefix(std::min(list.size(), one.size() + 1));
    }
    return out;
}

/// All that the emulator has, or the one that STRATA_DEVICE names: "emu:gfx942".
std::vector<int> named_devices() {
    constexpr std::string_view kPrefix = "emu:";
    const std::string_view named = settings().device;
    const std::string_view wanted = named.starts_with(kPrefix) ? named.substr(kPrefix.size()) : "";
    std::vector<int> out;
    for (int i = 0; i < emulator().device_count().value(); ++i)
        if (wanted.empty() || emulator().device_label(i) == wanted) out.push_back(i);
    return out;
}

/// How many devices stand for each: HIP_STRATA_DEVICES.
int devices_of_one_arch() {
    const char* const text = std::getenv("HIP_STRATA_DEVICES");
    if (!text || !*text) return 1;
    const std::string_view number = text;
    int count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc{} || end != number.data() + number.size() || count < 1 || count > kMostOfOneArch)
        throw Exception(
            make_error(ErrorKind::Usage, "HIP_STRATA_DEVICES={}: give a number from 1 to {}", number, kMostOfOneArch));
    return count;
}

std::vector<int> multiplied(const std::vector<int>& all) {
    std::vector<int> out;
    for (const int device : all)
        for (int copy = 0; copy < devices_of_one_arch(); ++copy) out.push_back(emulated_device(device, copy));
    return out;
}

/// The named devices; without names those that the program has code for, if any. Of these, those that
/// HIP_VISIBLE_DEVICES selects.
std::vector<int> chosen_devices() {
    std::vector<int> all = named_devices(), known;
    for (const int device : all)
        if (const auto has_code = code_check.load(); has_code && has_code(device)) known.push_back(device);
    if (!known.empty() && settings().device.empty()) all = std::move(known);
    all = multiplied(all);
    const char* const list = std::getenv("HIP_VISIBLE_DEVICES");
    if (!list) return all;
    std::vector<int> out;
    for (const int number : visible(list, all.size())) out.push_back(all[static_cast<size_t>(number)]);
    return out;
}

}  // namespace

const std::vector<int>& devices() {
    static const std::vector<int> chosen = chosen_devices();
    return chosen;
}

void prefer_devices_by(bool (*has_code)(int device)) { code_check = has_code; }

int current() {
    if (devices().empty()) throw NoDevice();
    return devices().at(static_cast<size_t>(current_device));
}
int current_number() { return current_device; }

Code make_current(int device) {
    if (!device_at(device)) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
}

std::optional<int> device_at(int number) {
    if (number < 0 || static_cast<size_t>(number) >= devices().size()) return {};
    return devices()[static_cast<size_t>(number)];
}

int number_of(int device) { return static_cast<int>(std::ranges::find(devices(), device) - devices().begin()); }

const DeviceProperties& query(int device) {
    static auto* mutex = new Mutex;
    static auto* all = new std::map<int, DeviceProperties>;
    std::lock_guard lock(*mutex);
    const auto found = all->find(device);
    return found != all->end() ? found->second
                               : all->emplace(device, emulator().device_properties(device).value()).first->second;
}

int major_version() {
    static const int version = [] {
        Dl_info info{};
        const std::string_view file =
            dladdr(reinterpret_cast<const void*>(&major_version), &info) ? info.dli_fname : "";
        for (const char digit : {'5', '6'})
            if (file.ends_with(std::string(".so.") + digit)) return digit - '0';
        return 7;
    }();
    return version;
}

Code code_of(const Error& error, Code otherwise) {
    switch (error.kind) {
        case ErrorKind::MemoryFault: return hipErrorIllegalAddress;
        case ErrorKind::Launch: return hipErrorInvalidConfiguration;
        case ErrorKind::Check: return hipErrorLaunchFailure;
        default: return otherwise;
    }
}

namespace {

void tell_text(std::string_view call, std::string_view text) {
    const std::string line = fmt::format("strata: {}: {}\n", call, text);
    std::fwrite(line.data(), 1, line.size(), stderr);  // which may be closed
}

}  // namespace

void tell(std::string_view call, const Error& error) { tell_text(call, error.message); }

Code code_of_exception(std::string_view call) noexcept {
    try {
        throw;
    } catch (const NoDevice&) {
        return hipErrorNoDevice;
    } catch (const std::bad_alloc&) {
        return hipErrorOutOfMemory;
    } catch (const std::length_error&) {
        return hipErrorOutOfMemory;
    } catch (const Exception& e) {  // a variable of the environment that holds something unusable, ...
        tell(call, e.error());
        return code_of(e.error(), hipErrorUnknown);
    } catch (const std::exception& e) {
        tell_text(call, e.what());
    } catch (...) {
        tell_text(call, "an exception of no known type");
    }
    return hipErrorUnknown;
}

void lose(Code code) { lost_by = code; }
Code lost() { return lost_by; }

int finish(Code code) {
    code_of_last_call = code;
    if (code != hipSuccess || major_version() < 7) error_of_thread = code;
    return code;
}
Code take_last_error() { return std::exchange(error_of_thread, lost()); }
Code last_error() { return error_of_thread; }
Code last_code() { return code_of_last_call; }

}  // namespace strata::hip::library
