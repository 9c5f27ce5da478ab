#pragma once
#include <cstddef>

/// What the library exports; a definition that differs from the signature of the table does not compile.
extern "C" {
#define CALL(since, result, name, parameters) [[gnu::visibility("default")]] result name parameters;
#include "strata/runtime/hip/amd_calls.def"
#undef CALL
}
