#pragma once
#include <cstddef>
#include <cstdint>

/// The structs of HIP's headers, as programs hand them over; test/hip/library/abi_test.cpp holds them against the
/// headers.

/// Structs that HIP's functions take by value.
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
/// hipIpcMemHandle_t, hipIpcEventHandle_t.
struct IpcHandle {
    char bytes[64];
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
/// HIP_MEMCPY3D, whose numbers are unsigned ints in HIP 5.
template <class Size>
struct DriverBoxParameters {
    Size from_x, from_y, from_z, from_level;
    int from_type;
    const void* from_host;
    void *from_device, *from_array;
    Size from_pitch, from_height, to_x, to_y, to_z, to_level;
    int to_type;
    void *to_host, *to_device, *to_array;
    Size to_pitch, to_height, width, height, depth;
};
/// hipArray, which programs of HIP 5 look into.
struct Array {
    void* memory;
    ChannelFormat channels;
    unsigned type, width, height, depth;
    int format;  ///< hipArray_Format
    unsigned count;
    bool of_driver;
    unsigned texture_type;
};
/// HIP_ARRAY_DESCRIPTOR.
struct ArrayDescriptor {
    size_t width, height;
    int format;
    unsigned count;
};
/// HIP_ARRAY3D_DESCRIPTOR.
struct Array3dDescriptor {
    size_t width, height, depth;
    int format;
    unsigned count, flags;
};
/// hipResourceDesc.
struct ResourceDescription {
    int kind;
    union {
        void* array;
        struct {
            void* memory;
            ChannelFormat channels;
            size_t bytes;
        } linear;
        struct {
            void* memory;
            ChannelFormat channels;
            size_t width, height, pitch;
        } rows;
    };
};
/// HIP_RESOURCE_DESC.
struct DriverResourceDescription {
    int kind;
    union {
        void* array;
        struct {
            void* memory;
            int format;
            unsigned count;
            size_t bytes;
        } linear;
        struct {
            void* memory;
            int format;
            unsigned count;
            size_t width, height, pitch;
        } rows;
        int reserved[32];
    };
    unsigned flags;
};
/// hipTextureDesc.
struct TextureDescription {
    int address[3], filter, read;
    int srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mipmap_filter;
    float level_bias, least_level, most_level;
};
/// HIP_TEXTURE_DESC.
struct DriverTextureDescription {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float level_bias, least_level, most_level, border[4];
    int reserved[12];
};
/// hipResourceViewDesc.
struct ViewDescription {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
};
/// HIP_RESOURCE_VIEW_DESC.
struct DriverViewDescription {
    ViewDescription view;
    unsigned reserved[16];
};
/// textureReference.
struct TextureReference {
    int normalized, read, filter, address[3];
    ChannelFormat channels;
    int srgb;
    unsigned anisotropy;
    int mipmap_filter;
    float level_bias, least_level, most_level;
    void* object;
    int count, format;
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
/// hipAccessPolicyWindow.
struct AccessWindow {
    void* start;
    int hit;
    float ratio;
    int miss;
    size_t bytes;
};
/// hipKernelNodeAttrValue, hipLaunchAttributeValue.
union KernelAttribute {
    AccessWindow window;
    int cooperative, priority;
};
/// hipGraphInstantiateParams.
struct ReadyParameters {
    void* bad;
    unsigned long long flags;
    int result;
    void* stream;
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
/// hipMemLocation.
struct Location {
    int kind, device;
};
/// hipMemAccessDesc.
struct AccessDescription {
    Location location;
    int access;
};
/// hipMemAllocationProp of HIP 5.3 and later.
struct AllocationProperties {
    int kind, handles;
    Location location;
    void* of_windows;
    unsigned char compression, direct;
    unsigned short usage;
};
/// The same of HIP 5.2.
struct AllocationProperties52 {
    unsigned char compression;
    Location location;
    int handles, kind;
    unsigned short usage;
    void* of_windows;
};
/// hipMemPoolProps.
struct PoolProperties {
    int kind, handles, location_kind, device;
    void* of_windows;
    unsigned char others[64];
};
/// hipMemAllocNodeParams of HIP 5.5 and later.
struct AllocationParameters {
    PoolProperties pool;
    const AccessDescription* access;
    size_t access_count, bytes;
    void* memory;
};

}  // namespace strata::hip::library
