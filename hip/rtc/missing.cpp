// Functions of AMD's libhiprtc that are known and not there.
#include "strata/hip/api/missing.h"

extern "C" {
#define MISSING(version, name)
#define MISSING_NAME(version, name)
#define MISSING_RTC(version, name)                                    \
    [[gnu::visibility("default")]] int name() {                       \
        static std::atomic<bool> reported;                            \
        return strata::hip::library::missing_of_rtc(#name, reported); \
    }
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
}
