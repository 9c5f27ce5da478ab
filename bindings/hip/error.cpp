#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"

using namespace strata::hip::library;

// Names and texts are literals: their views end with a zero.
const char* hipGetErrorName(int error) { return row_of(error).name.data(); }
const char* hipGetErrorString(int error) { return row_of(error).text.data(); }
int hipDrvGetErrorName(int error, const char** name) {
    return entry("hipDrvGetErrorName", [&] { return set(name, hipGetErrorName(error)); });
}
int hipDrvGetErrorString(int error, const char** text) {
    return entry("hipDrvGetErrorString", [&] { return set(text, hipGetErrorString(error)); });
}
int hipGetLastError() { return take_last_error(); }
int hipExtGetLastError() { return last_code(); }
int hipPeekAtLastError() { return last_error(); }
