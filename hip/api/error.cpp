#include "strata/hip/api/exports.h"
#include "strata/hip/api/state.h"

using namespace strata::hip::library;

namespace {

/// Gives the text of a number, and whether it is a code.
Code tell_known(int error, const char** out, const char* text) {
    if (const Code code = set(out, text); code != hipSuccess) return code;
    return row_of(error).code == error ? hipSuccess : hipErrorInvalidValue;
}

}  // namespace

// Names and texts are literals: their views end with a zero.
const char* hipGetErrorName(int error) { return row_of(error).name.data(); }
const char* hipGetErrorString(int error) { return row_of(error).text.data(); }
int hipDrvGetErrorName(int error, const char** name) {
    return entry("hipDrvGetErrorName", [&] { return tell_known(error, name, hipGetErrorName(error)); });
}
int hipDrvGetErrorString(int error, const char** text) {
    return entry("hipDrvGetErrorString", [&] { return tell_known(error, text, hipGetErrorString(error)); });
}
int hipGetLastError() { return take_last_error(); }
int hipExtGetLastError() { return last_code(); }
int hipPeekAtLastError() { return last_error(); }
