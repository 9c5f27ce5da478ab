#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"

using namespace strata::hip::library;

// Names and texts are literals: their views end with a zero.
const char* hipGetErrorName(int error) { return row_of(error).name.data(); }
const char* hipGetErrorString(int error) { return row_of(error).text.data(); }
int hipGetLastError() { return take_last_error(); }
