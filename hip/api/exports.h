#pragma once
#include "strata/hip/api/structs.h"

/// The exports of the library. A definition that differs from its row does not compile. Nor does a row that differs
/// from the call in the table of the provider that calls such a library.
extern "C" {
#define EXPORT(since, area, result, name, parameters) [[gnu::visibility("default")]] result name parameters;
#include "strata/hip/api/exports.def"
#undef EXPORT
#define CALL(since, result, name, parameters) result name parameters;
#include "strata/providers/amd/calls.def"
#undef CALL
}
