#pragma once
#include <cstddef>

/// What the library exports.
extern "C" {
#define RTC(result, name, parameters, arguments) [[gnu::visibility("default")]] result name parameters;
#include "strata/bindings/hip/hiprtc.def"
#undef RTC
}
