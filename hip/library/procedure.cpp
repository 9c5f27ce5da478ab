// The address of a function by its name, as programs ask for it that bind HIP at run time.
#include <algorithm>
#include <unordered_map>

#include "strata/hip/api/exports.h"
#include "strata/hip/api/state.h"

extern "C" {
#define MISSING(version, name) int name();
#define MISSING_NAME(version, name) const char* name();
#define MISSING_RTC(version, name) int name();
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
#define RTC(result, name, parameters, arguments) result name parameters;
#include "strata/hip/api/hiprtc.def"
#undef RTC
}

namespace strata::hip::library {
namespace {

struct Procedure {
    void* address = nullptr;
    int since = 0;          ///< 100 * major + minor, of the symbol
    bool is_there = false;  ///< no row of missing.def
};

/// 602 of "6_2".
constexpr int version_of(std::string_view row) {
    int parts[2] = {};
    size_t part = 0;
    for (const char c : row)
        if (c == '_')
            ++part;
        else
            parts[part] = parts[part] * 10 + (c - '0');
    return parts[0] * 100 + parts[1];
}

template <class F>
void* address_of(F* function) {
    return reinterpret_cast<void*>(function);
}

const std::unordered_map<std::string_view, Procedure>& procedures() {
    static const auto* all = new std::unordered_map<std::string_view, Procedure>{
#define EXPORT(since, area, result, name, parameters) {#name, {address_of(&name), version_of(#since), true}},
#include "strata/hip/api/exports.def"
#undef EXPORT
#define MISSING(version, name) {#name, {address_of(&name), version_of(#version)}},
#define MISSING_NAME(version, name) MISSING(version, name)
#define MISSING_RTC(version, name) MISSING(version, name)
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
#define RTC(result, name, parameters, arguments) {#name, {address_of(&name), version_of("4_2"), true}},
#include "strata/hip/api/hiprtc.def"
#undef RTC
    };
    return *all;
}

const Procedure* find(const std::string& name) {
    const auto found = procedures().find(name);
    return found == procedures().end() ? nullptr : &found->second;
}

/// hipDriverProcAddressQueryResult, and hipDriverEntryPointQueryResult.
enum Status { found, not_found, version_not_sufficient };
/// HIP_GET_PROC_ADDRESS_DEFAULT, ..._LEGACY_STREAM, ..._PER_THREAD_DEFAULT_STREAM.
enum Flags : uint64_t { as_compiled, of_all_threads, of_this_thread };

constexpr int kR0600 = 600;   // from this version on, names of 6.0's structures mean their new layout
constexpr int kOldest = 402;  // of any symbol
constexpr int kSingle =
    100'000;  // numbers from here on are hipRuntimeGetVersion's: 10^7 * major + 10^5 * minor + patch

/// The function that a name means to a program of a version, 100 * major + minor.
const Procedure* meant(const std::string& symbol, int version, uint64_t flags) {
    if (version >= kR0600)
        if (const Procedure* const changed = find(symbol + "R0600")) return changed;
    if (flags == of_this_thread)
        if (const Procedure* const of_thread = find(symbol + "_spt"); of_thread && of_thread->is_there)
            return of_thread;
    return find(symbol);
}

Code look_up(const char* symbol, void** function, int version, uint64_t flags, int* status) {
    if (!symbol || !*symbol || !function || flags > of_this_thread) return hipErrorInvalidValue;
    if (version >= kSingle) version = version / 10'000'000 * 100 + version / kSingle % 100;
    *function = nullptr;
    const Procedure* const procedure = meant(symbol, version, flags);
    const bool of_older = version < major_version() * 100;  // than this library: what came since it does not know
    const bool too_new = procedure && of_older && procedure->since > std::max(version, kOldest);
    const Status outcome = !procedure ? not_found : too_new ? version_not_sufficient : found;
    if (status) *status = outcome;
    if (outcome != found) return hipErrorInvalidValue;
    *function = procedure->address;
    return hipSuccess;
}

uint64_t of_thread(uint64_t flags) { return flags == as_compiled ? uint64_t{of_this_thread} : flags; }

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGetProcAddress(const char* symbol, void** function, int version, uint64_t flags, int* status) {
    return entry("hipGetProcAddress", [&] { return look_up(symbol, function, version, flags, status); });
}
int hipGetProcAddress_spt(const char* symbol, void** function, int version, uint64_t flags, int* status) {
    return entry("hipGetProcAddress_spt", [&] { return look_up(symbol, function, version, of_thread(flags), status); });
}
int hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
    return entry("hipGetDriverEntryPoint",
                 [&] { return look_up(symbol, function, major_version() * 100, flags, status); });
}
int hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* status) {
    return entry("hipGetDriverEntryPoint_spt",
                 [&] { return look_up(symbol, function, major_version() * 100, of_thread(flags), status); });
}
