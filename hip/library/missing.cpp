// Functions of AMD's library that are known and not there: programs that name them load, and hear of it when they call
// one.
#include "strata/hip/api/missing.h"
#include "strata/hip/api/state.h"

namespace {

using namespace strata::hip::library;

int not_there(const char* call, std::atomic<bool>& reported, const char* instead = "hipErrorNotSupported") {
    say_missing(call, reported, instead);
    return finish(hipErrorNotSupported);
}

constexpr const char* kUnknown = "unknown";  // as AMD's library says where it knows no name

}  // namespace

// How many arguments there are is the caller's affair, on x86-64 and AArch64.
extern "C" {
#define MISSING(version, name)                  \
    [[gnu::visibility("default")]] int name() { \
        static std::atomic<bool> reported;      \
        return not_there(#name, reported);      \
    }
#define MISSING_NAME(version, name)                     \
    [[gnu::visibility("default")]] const char* name() { \
        static std::atomic<bool> reported;              \
        not_there(#name, reported, kUnknown);           \
        return kUnknown;                                \
    }
#define MISSING_RTC(version, name)              \
    [[gnu::visibility("default")]] int name() { \
        static std::atomic<bool> reported;      \
        return missing_of_rtc(#name, reported); \
    }
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
}
