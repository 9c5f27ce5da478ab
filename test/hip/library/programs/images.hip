// Texture fetches and surface accesses of kernels through objects that the program writes itself, word by word (RDNA3 ISA 8.2.5,
// RDNA4 ISA 10.6), against the formulas for texture fetches of CUDA's programming guide.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int kWidth = 13, kHeight = 7, kDepth = 5, kPitch = 256, kFetches = 64 * 20;
enum Type { k1d = 8, k2d, k3d, k1dArray = 12, k2dArray };
enum Mode { wrap = 0, mirror = 1, edge = 2, border = 6 };

struct Object {
    unsigned words[20];
};

__global__ void fetch(int type, float* out, const float4* at, hipTextureObject_t texture) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = at[i];
    if (type == k1d) out[i] = tex1D<float>(texture, p.x);
    if (type == k2d) out[i] = tex2D<float>(texture, p.x, p.y);
    if (type == k3d) out[i] = tex3D<float>(texture, p.x, p.y, p.z);
    if (type == k2dArray) out[i] = tex2DLayered<float>(texture, p.x, p.y, int(p.w));
}

__global__ void add_one(hipSurfaceObject_t from, hipSurfaceObject_t to) {
    const int x = int(threadIdx.x) - 1, y = int(blockIdx.x) - 1;  // one beyond the image on each side
    float value;
    surf2Dread(&value, from, x * 4, y);
    surf2Dwrite(value + 1, to, x * 4, y);
}

__host__ Object object(unsigned long long base, int type, bool rdna4, bool linear, Mode mode, bool normalized, unsigned swizzle = 0) {
    constexpr unsigned kFloat32 = 22;
    Object o{};
    const int height = type == k1d || type == k1dArray ? 1 : kHeight, depth = type == k3d || type == k2dArray ? kDepth : 1;
    o.words[0] = unsigned(base >> 8);
    o.words[1] = unsigned(base >> 40) | kFloat32 << (rdna4 ? 17 : 20) | unsigned(kWidth - 1) << 30;
    o.words[2] = unsigned(kWidth - 1) >> 2 | unsigned(height - 1) << 14;
    o.words[3] = 4u | 0u << 3 | 0u << 6 | 1u << 9 | swizzle << 20 | unsigned(type) << 28;
    o.words[4] = depth > 1 ? unsigned(depth - 1) : type == k2d ? kPitch / 4 - 1 : 0;
    o.words[8] = 15, o.words[9] = 1, o.words[10] = kWidth;  // channel type and order of the device library; width
    o.words[12] = unsigned(mode) * 0111 | unsigned(!normalized) << 15;
    o.words[14] = linear ? 1u << 20 | 1u << 22 | 2u << 24 : 1u << 24;
    return o;
}

/// Floats from row to row: RDNA4 has rows of slices at multiples of 128 bytes, in slices as of rows at multiples of 256.
int row_floats(int type, bool rdna4) { return rdna4 && (type == k3d || type == k2dArray) ? 32 : kPitch / 4; }
int row = kPitch / 4;

/// Texel T[i] of the guide, by address mode.
float texel(const std::vector<float>& image, const int* size, long x, long y, long z, Mode mode) {
    long at[3] = {x, y, z};
    for (int i = 0; i < 3; ++i) {
        if (mode == border && (at[i] < 0 || at[i] >= size[i])) return 0;
        if (mode == edge) at[i] = std::min<long>(std::max<long>(at[i], 0), size[i] - 1);
        while (mode == wrap && at[i] < 0) at[i] += size[i];
        while (mode == wrap && at[i] >= size[i]) at[i] -= size[i];
        while (mode == mirror && (at[i] < 0 || at[i] >= size[i])) at[i] = at[i] < 0 ? -1 - at[i] : 2 * size[i] - 1 - at[i];
    }
    return image[at[2] * kHeight * (kPitch / 4) + at[1] * row + at[0]];
}

float expected(const std::vector<float>& image, int type, float4 p, bool linear, Mode mode, bool normalized) {
    const bool layers = type == k2dArray;
    int size[3] = {kWidth, type == k1d ? 1 : kHeight, type == k3d ? kDepth : layers ? kDepth : 1};
    const double scale = normalized ? 1 : 0;
    double x = p.x * (scale ? size[0] : 1), y = type == k1d ? .5 : p.y * (scale ? size[1] : 1), z = type == k3d ? p.z * (scale ? size[2] : 1) : .5;
    const long layer = std::min(std::max(int(p.w), 0), kDepth - 1);
    if (!linear) return texel(image, size, long(std::floor(x)), long(std::floor(y)), layers ? layer : long(std::floor(z)), mode);
    auto fraction = [](double v) { return std::round((v - std::floor(v)) * 256) / 256; };
    const double a = fraction(x - .5), b = fraction(y - .5), c = fraction(z - .5);
    const long i = long(std::floor(x - .5)), j = long(std::floor(y - .5)), k = layers ? layer : long(std::floor(z - .5));
    double sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
        const int dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2;
        const double share = (dx ? a : 1 - a) * (dy ? b : 1 - b) * (dz ? (layers ? 0 : c) : (layers ? 1 : 1 - c));
        if (share) sum += share * texel(image, size, i + dx, j + dy, k + dz, mode);
    }
    return float(sum);
}

#define CHECK(call) \
    if (hipError_t error = call; error != hipSuccess) return printf("%s: %s\n", #call, hipGetErrorString(error)), 1

int main(int count, char** arguments) {
    const bool swizzled = count > 1 && !strcmp(arguments[1], "swizzled"), loose = count > 1 && !strcmp(arguments[1], "loose"), freed = count > 1 && !strcmp(arguments[1], "freed");
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const bool rdna4 = !strncmp(properties.gcnArchName, "gfx12", 5);
    std::vector<float> image(kDepth * kHeight * kPitch / 4);
    for (size_t i = 0; i < image.size(); ++i) image[i] = float(i * 37 % 101);
    std::vector<float4> at(kFetches);
    float *texels, *target, *out;
    float4* places;
    Object* objects;
    const size_t bytes = image.size() * 4;
    CHECK(hipMalloc(&texels, bytes));
    CHECK(hipMalloc(&target, bytes));
    CHECK(hipMalloc(&out, kFetches * 4));
    CHECK(hipMalloc(&places, kFetches * 16));
    CHECK(hipMalloc(&objects, 2 * sizeof(Object)));
    CHECK(hipMemcpy(texels, image.data(), bytes, hipMemcpyHostToDevice));
    if (freed) CHECK(hipFree(texels));
    std::vector<float> got(kFetches);
    int wrong = 0, fetches = 0;
    for (int type : {k1d, k2d, k3d, k2dArray})
        for (bool linear : {false, true})
            for (Mode mode : {wrap, mirror, edge, border})
                for (bool normalized : {true, false}) {
                    if (!normalized && (mode == wrap || mode == mirror)) continue;  // HIP has these for normalized coordinates only
                    row = row_floats(type, rdna4);
                    unsigned state = 1;
                    for (float4& p : at) {
                        auto next = [&](int size) {  // multiples of 1/64 of a texel, from one image before to one after
                            state = state * 1664525 + 1013904223;
                            const float texel = float(int(state >> 10) % (size * 3 * 64)) / 64 - float(size) + 1 / 128.f;
                            return normalized ? texel / float(size) : texel;
                        };
                        p = {next(kWidth), next(kHeight), next(kDepth), float(state >> 20 & 7)};
                    }
                    const Object o = object((unsigned long long)texels + (loose ? 1ull << 40 : 0), type, rdna4, linear, mode, normalized, swizzled);
                    CHECK(hipMemcpy(objects, &o, sizeof o, hipMemcpyHostToDevice));
                    CHECK(hipMemcpy(places, at.data(), kFetches * 16, hipMemcpyHostToDevice));
                    fetch<<<kFetches / 64, 64>>>(type, out, places, (hipTextureObject_t)objects);
                    CHECK(hipMemcpy(got.data(), out, kFetches * 4, hipMemcpyDeviceToHost));
                    for (int i = 0; i < kFetches; ++i, ++fetches) {
                        const float wanted = expected(image, type, at[i], linear, mode, normalized);
                        if (std::fabs(got[i] - wanted) <= (linear ? 1e-4f : 0.f)) continue;
                        if (wrong++ < 5) printf("type %d linear %d mode %d normalized %d at %g %g %g %g: %g, not %g\n", type, linear, mode, normalized, at[i].x, at[i].y, at[i].z, at[i].w, got[i], wanted);
                    }
                }
    Object surfaces[2] = {object((unsigned long long)texels, k2d, rdna4, false, edge, false), object((unsigned long long)target, k2d, rdna4, false, edge, false)};
    CHECK(hipMemcpy(objects, surfaces, sizeof surfaces, hipMemcpyHostToDevice));
    CHECK(hipMemset(target, 0, bytes));
    add_one<<<kHeight + 2, kWidth + 2>>>((hipSurfaceObject_t)objects, (hipSurfaceObject_t)(objects + 1));
    std::vector<float> stored(image.size());
    CHECK(hipMemcpy(stored.data(), target, bytes, hipMemcpyDeviceToHost));
    for (int i = 0; i < kHeight * kPitch / 4; ++i)
        wrong += stored[i] != (i % (kPitch / 4) < kWidth ? image[i] + 1 : 0);
    printf("%d fetches, %d wrong\n", fetches, wrong);
    return wrong != 0;
}
