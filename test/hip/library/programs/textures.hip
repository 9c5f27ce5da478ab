// Texture and surface objects of HIP over arrays, rows and lines of memory, by every type of element, against the formulas for texture
// fetches of CUDA's programming guide; references to textures.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

constexpr int kWidth = 13, kHeight = 7, kDepth = 5, kFetches = 256;
enum Shape { kLine, kPlane, kVolume, kLines, kPlanes };

#define CHECK(call) \
    if (hipError_t error = call; error != hipSuccess) return printf("%s: %s\n", #call, hipGetErrorString(error)), 1

template <class T>
__global__ void fetch(int shape, T* out, const float4* at, hipTextureObject_t texture) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = at[i];
    if (shape == kLine) out[i] = tex1D<T>(texture, p.x);
    if (shape == kPlane) out[i] = tex2D<T>(texture, p.x, p.y);
    if (shape == kVolume) out[i] = tex3D<T>(texture, p.x, p.y, p.z);
    if (shape == kLines) out[i] = tex1DLayered<T>(texture, p.x, int(p.w));
    if (shape == kPlanes) out[i] = tex2DLayered<T>(texture, p.x, p.y, int(p.w));
}
template <class T>
__global__ void fetch_line(T* out, hipTextureObject_t texture, int count) {
    const int i = int(threadIdx.x) - 4;  // four texels beyond each end
    out[threadIdx.x] = tex1Dfetch<T>(texture, i);
}

/// Element `channel` of texel number `i`, small enough for every type.
__host__ int value_of(size_t i, int channel) { return int((i * 37 + channel * 11 + 5) % 101); }

/// The value of a channel, by the number read of it: integers as they are, or of their largest one.
template <class E>
double seen_as(E value, bool as_float, bool srgb) {
    if (!as_float || std::is_same_v<E, float>) return double(value);
    const double part = std::max(-1.0, double(value) / double(std::is_same_v<E, signed char> ? 127 : std::is_same_v<E, unsigned char> ? 255 : std::is_same_v<E, short> ? 32767 : 65535));
    return !srgb ? part : part <= .04045 ? part / 12.92 : std::pow((part + .055) / 1.055, 2.4);
}

template <class E>
struct Image {
    Shape shape;
    int channels;
    std::vector<E> elements;
    int size[3];
    Image(Shape shape, int channels) : shape(shape), channels(channels), size{kWidth, shape == kLine || shape == kLines ? 1 : kHeight, shape == kLine || shape == kPlane ? 1 : kDepth} {
        elements.resize(size_t(size[0]) * size[1] * size[2] * channels);
        for (size_t i = 0; i < elements.size(); ++i) elements[i] = E(value_of(i / channels, int(i % channels)) - (E(-1) < E(0) ? 50 : 0));
    }
    bool layered() const { return shape == kLines || shape == kPlanes; }
};

struct Mode {
    hipTextureAddressMode address;  ///< of the first axis; the others' are the next ones in hipTextureAddressMode
    bool linear, normalized, as_float, srgb;
};

hipTextureAddressMode address_of(const Mode& mode, int axis) { return hipTextureAddressMode((mode.address + axis) % 4); }

/// T[i, j, k] of the guide, by address mode.
template <class E>
double texel(const Image<E>& image, const long* place, int channel, const Mode& mode) {
    long at[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i) {
        const long n = image.size[i];
        const hipTextureAddressMode address = address_of(mode, i);
        long p = place[i];
        if (image.size[i] == 1) continue;
        if (address == hipAddressModeBorder && (p < 0 || p >= n)) return 0;
        if (address == hipAddressModeWrap && mode.normalized) p = (p % n + n) % n;
        if (address == hipAddressModeMirror && mode.normalized) p = (p % (2 * n) + 2 * n) % (2 * n), p = p < n ? p : 2 * n - 1 - p;
        at[i] = std::min(std::max(p, 0l), n - 1);
    }
    const size_t index = (size_t(at[2]) * image.size[1] + at[1]) * image.size[0] + at[0];
    return seen_as(image.elements[index * image.channels + channel], mode.as_float, mode.srgb && channel < 3);
}

template <class E>
double expected(const Image<E>& image, float4 p, int channel, const Mode& mode) {
    const double given[3] = {p.x, image.size[1] > 1 ? p.y : .5, image.shape == kVolume ? p.z : .5};
    double at[3];
    for (int i = 0; i < 3; ++i) at[i] = mode.normalized && image.size[i] > 1 ? given[i] * image.size[i] : given[i];
    const long layer = std::min(std::max(long(p.w), 0l), kDepth - 1l);
    const bool layers = image.layered();
    if (!mode.linear) {
        const long place[3] = {long(std::floor(at[0])), long(std::floor(at[1])), layers ? layer : long(std::floor(at[2]))};
        return texel(image, place, channel, mode);
    }
    double sum = 0, part[3];
    long low[3];
    for (int i = 0; i < 3; ++i) {
        const double lower = at[i] - .5;
        low[i] = long(std::floor(lower));
        part[i] = std::round((lower - std::floor(lower)) * 256) / 256;  // 1.8 fixed point
    }
    if (layers) low[2] = layer, part[2] = 0;
    for (int corner = 0; corner < 8; ++corner) {
        double share = 1;
        long place[3];
        for (int i = 0; i < 3; ++i) {
            const int step = corner >> i & 1;
            share *= step ? part[i] : 1 - part[i];
            place[i] = low[i] + step;
        }
        if (share) sum += share * texel(image, place, channel, mode);
    }
    return sum;
}

int fetches = 0, wrong = 0;

template <class E, class Out>
void judge(const Out* got, double wanted, int channel, const Mode& mode, const char* what) {
    double is;
    if (mode.as_float || std::is_same_v<E, float>) is = reinterpret_cast<const float*>(got)[channel];
    else is = double(reinterpret_cast<const E*>(got)[channel]);
    ++fetches;
    const double tolerance = mode.linear ? 1e-4 : mode.as_float ? 1e-6 : 0;
    if (std::fabs(is - wanted) <= tolerance) return;
    if (wrong++ < 5) printf("%s, channel %d, address %d linear %d normalized %d float %d srgb %d: %g, not %g\n", what, channel, mode.address, mode.linear, mode.normalized, mode.as_float, mode.srgb, is, wanted);
}

std::vector<float4> places_of(const Mode& mode) {
    std::vector<float4> at(kFetches);
    unsigned state = 1;
    for (float4& p : at) {
        auto next = [&](int size) {  // multiples of 1/64 of a texel, from one image before to one after
            state = state * 1664525 + 1013904223;
            const float texel = float(int(state >> 10) % (size * 3 * 64)) / 64 - float(size) + 1 / 128.f;
            return mode.normalized ? texel / float(size) : texel;
        };
        p = {next(kWidth), next(kHeight), next(kDepth), float(state >> 20 & 7)};
    }
    return at;
}

template <class Out>
int fetch_all(int shape, hipTextureObject_t texture, const std::vector<float4>& at, std::vector<Out>& got) {
    Out* out;
    float4* places;
    got.resize(at.size());
    CHECK(hipMalloc(&out, at.size() * sizeof(Out)));
    CHECK(hipMalloc(&places, at.size() * sizeof(float4)));
    CHECK(hipMemcpy(places, at.data(), at.size() * sizeof(float4), hipMemcpyHostToDevice));
    fetch<Out><<<kFetches / 64, 64>>>(shape, out, places, texture);
    CHECK(hipMemcpy(got.data(), out, at.size() * sizeof(Out), hipMemcpyDeviceToHost));
    CHECK(hipFree(out));
    CHECK(hipFree(places));
    return 0;
}

template <class E, class Out>
int fetch_and_judge(const Image<E>& image, hipTextureObject_t texture, const Mode& mode, const char* what) {
    const std::vector<float4> at = places_of(mode);
    std::vector<Out> got;
    if (fetch_all<Out>(image.shape, texture, at, got)) return 1;
    for (size_t i = 0; i < at.size(); ++i)
        for (int channel = 0; channel < image.channels; ++channel) judge<E>(&got[i], expected(image, at[i], channel, mode), channel, mode, what);
    return 0;
}

hipTextureDesc sampling_of(const Mode& mode) {
    hipTextureDesc d{};
    for (int axis = 0; axis < 3; ++axis) d.addressMode[axis] = address_of(mode, axis);
    d.filterMode = mode.linear ? hipFilterModeLinear : hipFilterModePoint;
    d.readMode = mode.as_float ? hipReadModeNormalizedFloat : hipReadModeElementType;
    d.normalizedCoords = mode.normalized;
    d.sRGB = mode.srgb;
    return d;
}

/// hipCreateChannelDesc<T>(), which of HIP 5.2 says that uchar4 is signed.
template <class T, class E>
hipChannelFormatDesc format_of() {
    const int bits = 8 * sizeof(E), channels = sizeof(T) / sizeof(E);
    const hipChannelFormatKind kind = std::is_same_v<E, float> ? hipChannelFormatKindFloat : E(-1) < E(0) ? hipChannelFormatKindSigned : hipChannelFormatKindUnsigned;
    return {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}

/// Fetches of an array of T, whose channels are E; Out is what the kernel reads.
template <class T, class E, class Out>
int arrays(Shape shape, const Mode& mode, const char* what) {
    const Image<E> image(shape, int(sizeof(T) / sizeof(E)));
    const hipChannelFormatDesc format = format_of<T, E>();
    const bool layered = image.layered(), line = image.size[1] == 1;
    hipArray_t array;
    const hipExtent extent = {kWidth, line ? 0u : unsigned(kHeight), image.size[2] > 1 ? unsigned(kDepth) : 0u};
    CHECK(hipMalloc3DArray(&array, &format, extent, layered ? hipArrayLayered : hipArrayDefault));
    hipMemcpy3DParms copy{};
    copy.srcPtr = make_hipPitchedPtr(const_cast<E*>(image.elements.data()), kWidth * sizeof(T), kWidth, image.size[1]);
    copy.dstArray = array;
    copy.extent = {kWidth, size_t(image.size[1]), size_t(image.size[2])};
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    const hipTextureDesc sampling = sampling_of(mode);
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &sampling, nullptr));
    if (fetch_and_judge<E, Out>(image, texture, mode, what)) return 1;
    CHECK(hipDestroyTextureObject(texture));
    CHECK(hipFreeArray(array));
    return 0;
}

template <class T, class E, class Out>
int lines(bool as_float, const char* what) {
    constexpr int kCount = 56;
    const int channels = int(sizeof(T) / sizeof(E));
    std::vector<E> elements(kCount * channels);
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = E(value_of(i / channels, int(i % channels)));
    void* memory;
    Out* out;
    std::vector<Out> got(64);
    CHECK(hipMalloc(&memory, sizeof(T) * kCount));
    CHECK(hipMalloc(&out, sizeof(Out) * 64));
    CHECK(hipMemcpy(memory, elements.data(), sizeof(T) * kCount, hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = format_of<T, E>();
    resource.res.linear.sizeInBytes = sizeof(T) * kCount;
    const Mode mode{hipAddressModeClamp, false, false, as_float, false};
    const hipTextureDesc sampling = sampling_of(mode);
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &sampling, nullptr));
    fetch_line<Out><<<1, 64>>>(out, texture, kCount);
    CHECK(hipMemcpy(got.data(), out, sizeof(Out) * 64, hipMemcpyDeviceToHost));
    for (int i = -4; i < kCount + 4; ++i)
        for (int channel = 0; channel < channels; ++channel)
            judge<E>(&got[i + 4], i < 0 || i >= kCount ? 0 : seen_as(elements[i * channels + channel], as_float, false), channel, mode, what);
    CHECK(hipDestroyTextureObject(texture));
    CHECK(hipFree(memory));
    CHECK(hipFree(out));
    return 0;
}

int rows(const Mode& mode) {
    const Image<float> image(kPlane, 1);
    float* memory;
    size_t pitch;
    CHECK(hipMallocPitch((void**)&memory, &pitch, kWidth * 4, kHeight));
    CHECK(hipMemcpy2D(memory, pitch, image.elements.data(), kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypePitch2D;
    resource.res.pitch2D = {memory, hipCreateChannelDesc<float>(), kWidth, kHeight, pitch};
    const hipTextureDesc sampling = sampling_of(mode);
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &sampling, nullptr));
    if (fetch_and_judge<float, float>(image, texture, mode, "pitched memory")) return 1;
    CHECK(hipDestroyTextureObject(texture));
    CHECK(hipFree(memory));
    return 0;
}

__global__ void add_one(hipSurfaceObject_t from, hipSurfaceObject_t to) {
    const int x = int(threadIdx.x) - 1, y = int(blockIdx.x) - 1;  // one beyond the image on each side
    float4 value;
    surf2Dread(&value, from, x * int(sizeof value), y);
    surf2Dwrite(float4(value.x + 1, value.y + 2, value.z + 3, value.w + 4), to, x * int(sizeof value), y);
}
__global__ void double_volume(hipSurfaceObject_t surface) {
    const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    float value;
    surf3Dread(&value, surface, x * 4, y, z);
    surf3Dwrite(value * 2, surface, x * 4, y, z);
}

hipResourceDesc resource_of(hipArray_t array) {
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

int surfaces() {
    const hipChannelFormatDesc four = hipCreateChannelDesc<float4>(), one = hipCreateChannelDesc<float>();
    const Image<float> image(kPlane, 4), volume(kVolume, 1);
    std::vector<float> got(image.elements.size());
    hipArray_t from, to, deep;
    hipSurfaceObject_t source, target;
    CHECK(hipMallocArray(&from, &four, kWidth, kHeight, hipArraySurfaceLoadStore));
    CHECK(hipMallocArray(&to, &four, kWidth, kHeight, hipArraySurfaceLoadStore));
    CHECK(hipMemcpy2DToArray(from, 0, 0, image.elements.data(), kWidth * 16, kWidth * 16, kHeight, hipMemcpyHostToDevice));
    hipResourceDesc resource = resource_of(from);
    CHECK(hipCreateSurfaceObject(&source, &resource));
    resource = resource_of(to);
    CHECK(hipCreateSurfaceObject(&target, &resource));
    add_one<<<kHeight + 2, kWidth + 2>>>(source, target);
    CHECK(hipMemcpy2DFromArray(got.data(), kWidth * 16, to, 0, 0, kWidth * 16, kHeight, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < got.size(); ++i) ++fetches, wrong += got[i] != image.elements[i] + float(i % 4 + 1);
    CHECK(hipMalloc3DArray(&deep, &one, {kWidth, kHeight, kDepth}, hipArraySurfaceLoadStore));
    hipMemcpy3DParms copy{};
    copy.srcPtr = make_hipPitchedPtr(const_cast<float*>(volume.elements.data()), kWidth * 4, kWidth, kHeight);
    copy.dstArray = deep;
    copy.extent = {kWidth, kHeight, kDepth};
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    hipSurfaceObject_t both;
    resource = resource_of(deep);
    CHECK(hipCreateSurfaceObject(&both, &resource));
    double_volume<<<kDepth, dim3(kWidth, kHeight)>>>(both);
    got.resize(volume.elements.size());
    copy = {};
    copy.srcArray = deep;
    copy.dstPtr = make_hipPitchedPtr(got.data(), kWidth * 4, kWidth, kHeight);
    copy.extent = {kWidth, kHeight, kDepth};
    copy.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&copy));
    for (size_t i = 0; i < got.size(); ++i) ++fetches, wrong += got[i] != volume.elements[i] * 2;
    for (hipSurfaceObject_t each : {source, target, both}) CHECK(hipDestroySurfaceObject(each));
    for (hipArray_t each : {from, to, deep}) CHECK(hipFreeArray(each));
    return 0;
}

texture<float, hipTextureType1D, hipReadModeElementType> of_line;
texture<float, hipTextureType2D, hipReadModeElementType> of_plane;
__global__ void by_reference(float* out) {
    const int i = threadIdx.x;
    out[i] = tex1Dfetch(of_line, i);
    out[64 + i] = tex2D(of_plane, float(i % kWidth) + .5f, float(i / kWidth) + .5f);
}

__global__ void gather(float4* out, hipTextureObject_t texture) {
    const int x = threadIdx.x, y = blockIdx.x;
    for (int channel = 0; channel < 2; ++channel) out[(y * 32 + x) * 2 + channel] = tex2Dgather<float4>(texture, float(x) - 4.25f, float(y) - 3.25f, channel + 1);  // HIP 5.2 counts from one
}

/// The four texels that a linear filter takes, counterclockwise from the lower left one (CUDA's programming guide, "Texture Gather").
int gathers() {
    constexpr int kRows = 16, kSteps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const Image<float> image(kPlane, 2);
    const Mode mode{hipAddressModeBorder, true, false, false, false};  // device libraries round places down where it is not linear
    const hipChannelFormatDesc format = hipCreateChannelDesc<float2>();
    hipArray_t array;
    float4* out;
    std::vector<float4> got(32 * kRows * 2);
    CHECK(hipMallocArray(&array, &format, kWidth, kHeight, hipArrayTextureGather));
    CHECK(hipMemcpy2DToArray(array, 0, 0, image.elements.data(), kWidth * 8, kWidth * 8, kHeight, hipMemcpyHostToDevice));
    CHECK(hipMalloc(&out, got.size() * sizeof(float4)));
    const hipResourceDesc resource = resource_of(array);
    const hipTextureDesc sampling = sampling_of(mode);
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &sampling, nullptr));
    gather<<<kRows, 32>>>(out, texture);
    CHECK(hipMemcpy(got.data(), out, got.size() * sizeof(float4), hipMemcpyDeviceToHost));
    for (int i = 0; i < int(got.size()); ++i)
        for (int texel_of = 0; texel_of < 4; ++texel_of, ++fetches) {
            const int x = i / 2 % 32, y = i / 64;
            const long place[3] = {x - 5 + kSteps[texel_of][0], y - 4 + kSteps[texel_of][1], 0};
            wrong += reinterpret_cast<const float*>(&got[i])[texel_of] != float(texel(image, place, i % 2, mode));
        }
    CHECK(hipDestroyTextureObject(texture));
    CHECK(hipFree(out));
    CHECK(hipFreeArray(array));
    return 0;
}

int references() {
    const Image<float> image(kPlane, 1);
    float *memory, *out;
    size_t offset, pitch;
    std::vector<float> line(64), got(128);
    for (int i = 0; i < 64; ++i) line[i] = float(i * i);
    CHECK(hipMalloc(&memory, 256));
    CHECK(hipMalloc(&out, 512));
    CHECK(hipMemcpy(memory, line.data(), 256, hipMemcpyHostToDevice));
    CHECK(hipBindTexture(&offset, of_line, memory, 256));
    float* plane;
    CHECK(hipMallocPitch((void**)&plane, &pitch, kWidth * 4, kHeight));
    CHECK(hipMemcpy2D(plane, pitch, image.elements.data(), kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
    hipArray_t array;
    const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&array, &format, kWidth, kHeight));
    CHECK(hipMemcpy2DToArray(array, 0, 0, image.elements.data(), kWidth * 4, kWidth * 4, kHeight, hipMemcpyHostToDevice));
    for (bool of_array : {false, true}) {
        if (of_array) CHECK(hipBindTextureToArray(of_plane, array));
        if (!of_array) CHECK(hipBindTexture2D(&offset, of_plane, plane, kWidth, kHeight, pitch));
        by_reference<<<1, 64>>>(out);
        CHECK(hipMemcpy(got.data(), out, 512, hipMemcpyDeviceToHost));
        for (int i = 0; i < 64; ++i) fetches += 2, wrong += got[i] != line[i], wrong += got[64 + i] != image.elements[i];
    }
    CHECK(hipUnbindTexture(of_line));
    CHECK(hipUnbindTexture(of_plane));
    CHECK(hipFree(memory));
    CHECK(hipFree(plane));
    CHECK(hipFree(out));
    CHECK(hipFreeArray(array));
    return 0;
}

int main() {
    int images = -1;
    CHECK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
    if (!images) {
        hipArray_t array;
        hipTextureObject_t texture;
        const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
        const hipResourceDesc resource{};
        const hipTextureDesc sampling{};
        printf("no images: %s, %s\n", hipGetErrorName(hipMallocArray(&array, &format, 4, 4)), hipGetErrorName(hipCreateTextureObject(&texture, &resource, &sampling, nullptr)));
        return 0;
    }
    for (Shape shape : {kLine, kPlane, kVolume, kLines, kPlanes})
        for (bool linear : {false, true})
            for (hipTextureAddressMode address : {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder})
                for (bool normalized : {true, false})  // without, the first and third clamp
                    if (arrays<float, float, float>(shape, {address, linear, normalized, false, false}, "float")) return 1;
    const Mode point{hipAddressModeClamp, false, false, false, false}, as_float{hipAddressModeBorder, true, true, true, false}, srgb{hipAddressModeClamp, true, true, true, true};
    if (arrays<float2, float, float2>(kPlane, point, "float2") || arrays<float4, float, float4>(kVolume, {hipAddressModeWrap, true, true, false, false}, "float4")) return 1;
    if (arrays<char, signed char, char>(kPlane, point, "char") || arrays<uchar4, unsigned char, uchar4>(kPlanes, point, "uchar4") || arrays<short2, short, short2>(kLines, point, "short2") || arrays<ushort, unsigned short, ushort>(kVolume, point, "ushort") || arrays<int4, int, int4>(kPlane, point, "int4") || arrays<uint2, unsigned, uint2>(kLine, point, "uint2")) return 1;
    if (arrays<char4, signed char, float4>(kPlane, as_float, "char4 as floats") || arrays<uchar, unsigned char, float>(kVolume, as_float, "uchar as floats") || arrays<short, short, float>(kLines, as_float, "short as floats") || arrays<ushort2, unsigned short, float2>(kPlanes, as_float, "ushort2 as floats") || arrays<uchar4, unsigned char, float4>(kPlane, srgb, "uchar4 of sRGB")) return 1;
    if (lines<float, float, float>(false, "line of float") || lines<int2, int, int2>(false, "line of int2") || lines<uchar4, unsigned char, float4>(true, "line of uchar4 as floats")) return 1;
    if (rows({hipAddressModeClamp, true, false, false, false}) || rows({hipAddressModeMirror, false, true, false, false})) return 1;
    if (surfaces() || gathers() || references()) return 1;
    printf("%d fetches, %d wrong\n", fetches, wrong);
    return wrong != 0;
}
