// Kernels whose times on real cards are published: strata bench model, which names the sources.
#include <hip/hip_runtime.h>

typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));

// Products of square matrices of floats: c = a b, rows of n.
extern "C" __global__ void product_naive(float* c, const float* a, const float* b, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ __launch_bounds__(1024) void product_lds(float* c, const float* a, const float* b, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int at = 0; at < n; at += 32) {
        of_a[y][x] = a[row * n + at + x];
        of_b[y][x] = b[(at + y) * n + column];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// A block makes 128 x 128, eight deep at a time. A wave of 8 x 4 lanes makes WIDE columns of it, a lane patches of 4 x
// 4. AHEAD: what the next step needs is under way during this one. PAD: floats between the rows of A in local memory.
template <int THREADS, int WIDE, bool AHEAD, int PAD>
__global__ __launch_bounds__(THREADS) void product_blocks(float* c, const float* a, const float* b, int n) {
    constexpr int kSide = 128, kDeep = 8, kHigh = kSide * kSide / (THREADS / 32) / WIDE;
    constexpr int kAcross = WIDE / 32, kDown = kHigh / 16, kEach = kSide * kDeep / THREADS;
    __shared__ float of_a[kDeep][kSide + PAD], of_b[kDeep][kSide];
    const int thread = threadIdx.x, wave = thread / 32, lane = thread % 32;
    const int x = wave % (kSide / WIDE) * WIDE + lane % 8 * 4, y = wave / (kSide / WIDE) * kHigh + lane / 8 * 4;
    const float* rows = a + blockIdx.y * kSide * n;
    const float* columns = b + blockIdx.x * kSide;
    float next_a[kEach], next_b[kEach], sums[kDown * 4][kAcross * 4] = {};
    auto fetch = [&](int at) {
        for (int i = 0; i < kEach; ++i) {
            next_a[i] = rows[(thread / kDeep + i * (THREADS / kDeep)) * n + at + thread % kDeep];
            next_b[i] = columns[(at + thread / kSide + i * (THREADS / kSide)) * n + thread % kSide];
        }
    };
    auto keep = [&] {
        for (int i = 0; i < kEach; ++i) {
            of_a[thread % kDeep][thread / kDeep + i * (THREADS / kDeep)] = next_a[i];
            of_b[thread / kSide + i * (THREADS / kSide)][thread % kSide] = next_b[i];
        }
        __syncthreads();
    };
    if (AHEAD) fetch(0), keep();
    for (int at = 0; at < n; at += kDeep) {
        if (!AHEAD) fetch(at), keep();
        if (AHEAD && at + kDeep < n) fetch(at + kDeep);
        for (int k = 0; k < kDeep; ++k) {
            float left[kDown * 4], right[kAcross * 4];
            for (int i = 0; i < kAcross; ++i) *(f4*)&right[i * 4] = *(const f4*)&of_b[k][x + i * 32];
            for (int i = 0; i < kDown; ++i)
                for (int j = 0; j < 4; ++j) left[i * 4 + j] = of_a[k][y + i * 16 + j];
            for (int i = 0; i < kDown * 4; ++i)
                for (int j = 0; j < kAcross * 4; ++j) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
        if (AHEAD && at + kDeep < n) keep();
    }
    for (int i = 0; i < kDown * 4; ++i)
        for (int j = 0; j < kAcross * 4; ++j)
            c[(blockIdx.y * kSide + y + i / 4 * 16 + i % 4) * n + blockIdx.x * kSide + x + j / 4 * 32 + j % 4] = sums[i][j];
}

#if defined(__gfx1100__)
// Halves: a wave makes 16 x 16 straight from memory.
extern "C" __global__ void product_wmma(_Float16* c, const _Float16* a, const _Float16* b, int n) {
    const int lane = threadIdx.x % 16, row = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
    const int column = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16;
    h16 left, right, sums = {};
    for (int at = 0; at < n; at += 16) {
        for (int k = 0; k < 16; ++k) left[k] = a[(row + lane) * n + at + k], right[k] = b[(at + k) * n + column + lane];
        sums = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(left, right, sums, false);
    }
    for (int i = 0; i < 8; ++i) c[(row + 2 * i + threadIdx.x % 32 / 16) * n + column + lane] = sums[2 * i];
}

// Halves through local memory, A by columns: of DOWN x ACROSS waves each makes TILES x TILES tiles; a thread brings
// PART at a time.
template <int PART> struct Part { typedef _Float16 type __attribute__((ext_vector_type(PART))); };
template <> struct Part<1> { typedef _Float16 type; };

template <int DOWN, int ACROSS, int TILES, int DEEP, int PART>
__global__ __launch_bounds__(32 * DOWN * ACROSS) void product_wmma_blocks(_Float16* c, const _Float16* a, const _Float16* b, int n) {
    using Vector = typename Part<PART>::type;
    constexpr int kHigh = DOWN * TILES * 16, kWide = ACROSS * TILES * 16, kThreads = 32 * DOWN * ACROSS;
    __shared__ _Float16 of_a[DEEP][kHigh], of_b[DEEP][kWide];
    const int thread = threadIdx.x, lane = thread % 16, row = thread / 32 / ACROSS * TILES * 16, column = thread / 32 % ACROSS * TILES * 16;
    const _Float16* columns = a + blockIdx.y * kHigh;
    const _Float16* rows = b + blockIdx.x * kWide;
    h16 sums[TILES][TILES] = {};
    for (int at = 0; at < n; at += DEEP) {
        for (int i = thread * PART; i < DEEP * kHigh; i += kThreads * PART)
            *(Vector*)&of_a[i / kHigh][i % kHigh] = *(const Vector*)&columns[(at + i / kHigh) * n + i % kHigh];
        for (int i = thread * PART; i < DEEP * kWide; i += kThreads * PART)
            *(Vector*)&of_b[i / kWide][i % kWide] = *(const Vector*)&rows[(at + i / kWide) * n + i % kWide];
        __syncthreads();
        for (int k = 0; k < DEEP; k += 16) {
            h16 left[TILES], right[TILES];
            for (int t = 0; t < TILES; ++t)
                for (int j = 0; j < 16; ++j)
                    left[t][j] = of_a[k + j][row + t * 16 + lane], right[t][j] = of_b[k + j][column + t * 16 + lane];
            for (int i = 0; i < TILES; ++i)
                for (int j = 0; j < TILES; ++j)
                    sums[i][j] = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(left[i], right[j], sums[i][j], false);
        }
        __syncthreads();
    }
    for (int i = 0; i < TILES; ++i)
        for (int j = 0; j < TILES; ++j)
            for (int k = 0; k < 8; ++k)
                c[(blockIdx.y * kHigh + row + i * 16 + 2 * k + thread % 32 / 16) * n + blockIdx.x * kWide + column + j * 16 + lane] = sums[i][j][2 * k];
}

// Nothing but matrix products.
extern "C" __global__ void peak_wmma(float* out, int steps) {
    h16 a = (_Float16)threadIdx.x, b = (_Float16)1;
    f8 sums[4] = {};
    for (int i = 0; i < steps; ++i)
        for (int k = 0; k < 4; ++k) sums[k] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, sums[k]);
    for (int k = 0; k < 4; ++k) out[blockIdx.x * blockDim.x + threadIdx.x] += sums[k][0];
}
#endif

extern "C" __global__ void copy_vectors(f4* out, const f4* x) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = x[i];
}
// Streams of doubles, an element a thread.
extern "C" __global__ void stream_read(double* out, const double* x) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (x[i] == 123) out[i] = 1;
}
extern "C" __global__ void stream_scale(double* out, const double* x) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * 1.2;
}
extern "C" __global__ void stream_triad(double* out, const double* x, const double* y) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    out[i] = x[i] * 1.2 + y[i];
}

// Each block of 256 reads the same `count` vectors again and again; `zero` is.
extern "C" __global__ void read_again(f4* out, const f4* x, int count, int times, int zero) {
    f4 sum = {};
    x += threadIdx.x;
#pragma unroll 8
    for (int i = 0; i < times; ++i) {
        x += zero;
        for (int at = 0; at < count; at += 1024)
            for (int k = 0; k < 4; ++k) sum += x[at + k * 256];
    }
    if (sum[0] == 1233) out[threadIdx.x] = sum;
}
// Blocks share `runs` pieces of memory, each 2 * deep elements a thread.
extern "C" __global__ void read_shared(double* out, const double* x, int runs, int deep) {
    double sum = 0;
    for (int i = 0; i < deep; ++i) {
        const size_t at = (blockDim.x * (size_t)runs * i + blockIdx.x % runs * blockDim.x) * 2 + threadIdx.x;
        sum += x[at] * x[at + blockDim.x];
    }
    if (sum == 23.12) out[threadIdx.x] = sum;
}
// Each load's address is what the one before it read.
extern "C" __global__ void chase(const long* out, const long* x, int steps) {
    long offset = threadIdx.x;
    for (int i = 0; i < steps; ++i) offset = *(const long*)((const char*)x + offset);
    if (offset == 1) *(long*)out = 1;
}
