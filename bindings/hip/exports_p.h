#pragma once
#include "strata/bindings/hip/structs_p.h"

/// What the library exports; a definition that differs from its row does not compile, nor a row from the call of the table of the
/// provider that calls such a library.
extern "C" {
#define EXPORT(since, area, result, name, parameters) [[gnu::visibility("default")]] result name parameters;
#include "strata/bindings/hip/exports.def"
#undef EXPORT
#define CALL(since, result, name, parameters) result name parameters;
#include "strata/providers/amd/calls.def"
#undef CALL
}
