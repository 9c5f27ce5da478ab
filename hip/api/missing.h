#pragma once
#include <atomic>
#include <cstdio>

namespace strata::hip::library {

/// Says once that a function is not there, and what a call of it returns.
inline void say_missing(const char* call, std::atomic<bool>& reported, const char* instead) {
    if (!reported.exchange(true)) std::fprintf(stderr, "strata: %s is not implemented: it returns %s\n", call, instead);
}

inline constexpr int kRtcInternalError = 11;  // HIPRTC_ERROR_INTERNAL_ERROR
inline int missing_of_rtc(const char* call, std::atomic<bool>& reported) {
    say_missing(call, reported, "HIPRTC_ERROR_INTERNAL_ERROR");
    return kRtcInternalError;
}

}  // namespace strata::hip::library
