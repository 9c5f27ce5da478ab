#pragma once
#include <cstddef>

/// The exports of the library.
extern "C" {
#define RTC(result, name, parameters, arguments) [[gnu::visibility("default")]] result name parameters;
#include "strata/hip/api/hiprtc.def"
#undef RTC
}
