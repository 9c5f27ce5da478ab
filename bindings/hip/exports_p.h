#pragma once
#include <cstddef>
#include <cstdint>

/// What HIP's functions take by value.
struct Dim3 {
    uint32_t x, y, z;
};
struct Extent {
    size_t width, height, depth;
};
struct PitchedPointer {
    void* memory;
    size_t pitch, width, height;
};
struct ChannelFormat {
    int x, y, z, w, kind;
};
using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(void* stream, int status, void* data);

/// What the library exports; a definition that differs from its row does not compile, nor a row from the call of the table of the
/// provider that calls such a library.
extern "C" {
#define EXPORT(since, area, result, name, parameters) [[gnu::visibility("default")]] result name parameters;
#include "strata/bindings/hip/exports.def"
#undef EXPORT
#define CALL(since, result, name, parameters) result name parameters;
#include "strata/runtime/hip/amd_calls.def"
#undef CALL
}
