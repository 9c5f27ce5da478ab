#pragma once
#include <cstddef>
#include <cstdint>

/// The structs of HIP's headers, as programs hand them over; test/bindings/hip/abi_test.cpp holds them against the headers.

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

namespace strata::hip::library {

struct Position {
    size_t x, y, z;
};
/// hipMemcpy3DParms.
struct BoxParameters {
    void* from_array;
    Position from_at;
    PitchedPointer from;
    void* to_array;
    Position to_at;
    PitchedPointer to;
    Extent extent;
    int kind;
};
/// hip_Memcpy2D, whose hipMemoryType says which pointer counts.
struct RowsParameters {
    size_t from_x, from_y;
    int from_type;
    const void* from_host;
    void *from_device, *from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void *to_host, *to_device, *to_array;
    size_t to_pitch, width, height;
};
/// hipKernelNodeParams.
struct KernelParameters {
    Dim3 block;
    void** extra;
    const void* function;
    Dim3 grid;
    void** parameters;
    unsigned lds;
};
/// hipMemsetParams.
struct FillParameters {
    void* to;
    unsigned element;
    size_t height, pitch;
    unsigned value;
    size_t width;
};
/// hipHostNodeParams.
struct HostParameters {
    HostFunction function;
    void* data;
};
/// hipFuncAttributes.
struct FunctionAttributes {
    int binary_version, cache_mode;
    size_t constant_bytes, local_bytes;
    int most_dynamic_lds, most_threads, registers, carveout, ptx_version;
    size_t lds_bytes;
};
/// hipPointerAttribute_t.
struct PointerAttributes {
    int type;
    int device;
    void *on_device, *on_host;
    int managed;
    unsigned flags;
};
/// hipMemPoolProps, as far as it is read.
struct PoolProperties {
    int kind, handles, location_kind, device;
};

}  // namespace strata::hip::library
