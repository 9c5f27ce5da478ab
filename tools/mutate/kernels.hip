// The kernels that `strata mutate` changes when it is given no file. Above each: grid, block, and the arguments as
// `strata run` takes them. Every array is read or written to its last element.

//@ 2 | 128 | f32[256]=random f32[256]=random 2.5
extern "C" __global__ void saxpy(float* y, const float* x, float a) {
    int i = blockIdx.x * 128 + threadIdx.x;
    y[i] = a * x[i] + y[i];
}

//@ 1 | 64 | f32[64] f32[256]=random
extern "C" __global__ void vector_loads(float* out, const float4* in) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.y * v.z - v.w;
}

//@ 1 | 128 | f32[128] f32[128]=random
extern "C" __global__ void reverse_local(float* out, const float* in) {
    __shared__ float part[128];
    part[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = part[127 - threadIdx.x];
}

//@ 2 | 128 | f32[2] f32[256]=random
extern "C" __global__ void block_sum(float* out, const float* in) {
    __shared__ float part[128];
    part[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
    for (int half = 64; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

//@ 2,2 | 16,16 | f32[1024] f32[1024]=random
extern "C" __global__ void transpose_tile(float* out, const float* in) {
    __shared__ float tile[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[(blockIdx.y * 16 + y) * 32 + blockIdx.x * 16 + x];
    __syncthreads();
    out[(blockIdx.x * 16 + y) * 32 + blockIdx.y * 16 + x] = tile[x][y];
}

//@ 2,2 | 16,16 | f32[1024] f32[1024]=random f32[1024]=random
extern "C" __global__ void matmul_tile(float* c, const float* a, const float* b) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < 32; t += 16) {
        left[y][x] = a[row * 32 + t + x];
        right[y][x] = b[(t + y) * 32 + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[row * 32 + column] = sum;
}

//@ 1 | 128 | u32[128] u32[128]=arange
extern "C" __global__ void scan(unsigned* out, const unsigned* in) {
    __shared__ unsigned part[2][128];
    unsigned t = threadIdx.x, from = 0;
    part[0][t] = in[t];
    for (unsigned step = 1; step < 128; step *= 2) {
        __syncthreads();
        unsigned sum = part[from][t];
        if (t >= step) sum += part[from][t - step];
        part[1 - from][t] = sum;
        from = 1 - from;
    }
    __syncthreads();
    out[t] = part[from][t];
}

//@ 1 | 128 | u32[128] i32[128]=random
extern "C" __global__ void histogram(unsigned* out, const int* in) {
    __shared__ unsigned bins[128];
    bins[threadIdx.x] = 0;
    __syncthreads();
    __hip_atomic_fetch_add(&bins[in[threadIdx.x] & 127], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x];
}

//@ 2 | 64 | i32[1] i32[128]=random
extern "C" __global__ void atomic_total(int* total, const int* in) {
    __hip_atomic_fetch_add(total, in[blockIdx.x * 64 + threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

//@ 1 | 64 | i32[64] i32[64]=arange i32[64]=random
extern "C" __global__ void gather(int* out, const int* index, const int* in) { out[threadIdx.x] = in[index[threadIdx.x] ^ 5]; }

//@ 1 | 64 | i32[64] i32[64]=arange i32[64]=random
extern "C" __global__ void scatter(int* out, const int* index, const int* in) { out[index[threadIdx.x] ^ 9] = in[threadIdx.x]; }

//@ 1 | 64 | f32[64] f32[64]=random
extern "C" __global__ void spilled(float* out, const float* in) {
    volatile float own[8];
    for (int i = 0; i < 8; ++i) own[i] = in[(threadIdx.x + i) & 63];
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += own[i] * i;
    out[threadIdx.x] = sum;
}

//@ 1 | 64 | f32[64] f32[64]=random
extern "C" __global__ void private_memory(float* out, const float* in) {
    float own[8];
    auto place = (volatile __attribute__((address_space(5))) float*)own;
    for (int i = 0; i < 8; ++i) place[i] = in[(threadIdx.x + i) & 63];
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum = sum * 3 + place[(int)(threadIdx.x + i) & 7];
    out[threadIdx.x] = sum;
}

//@ 1 | 64 | f32[64] f32[64]=random i32[64]=random
extern "C" __global__ void picked(float* out, const float* in, const int* which) {
    float own[16];
    for (int i = 0; i < 16; ++i) own[i] = in[(threadIdx.x * 3 + i) & 63];
    float value = own[which[threadIdx.x] & 15];
    own[which[63 - threadIdx.x] & 15] = 2;
    out[threadIdx.x] = value + own[(which[threadIdx.x] >> 2) & 15];
}

//@ 1 | 64 | f32[64] f32[64]=random
extern "C" __global__ void special(float* out, const float* in) {
    float x = in[threadIdx.x];
    out[threadIdx.x] = __builtin_amdgcn_exp2f(x) + __builtin_amdgcn_rcpf(x) * __builtin_amdgcn_sqrtf(x * x) + __builtin_amdgcn_logf(x * x);
}

//@ 1 | 64 | f64[64] f64[64]=random f64[64]=random
extern "C" __global__ void divide_double(double* out, const double* a, const double* b) { out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x]; }

//@ 1 | 64 | f32[64] f32[64]=random f32[64]=random
extern "C" __global__ void divide(float* out, const float* a, const float* b) { out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x]; }

//@ 1 | 64 | i64[64] i64[64]=random 7
extern "C" __global__ void divide_long(long* out, const long* a, int by) { out[threadIdx.x] = a[threadIdx.x] / (by + (long)threadIdx.x) + a[threadIdx.x] % by; }

//@ 1 | 64 | u32[64] u32[64]=random
extern "C" __global__ void collatz(unsigned* out, const unsigned* in) {
    unsigned n = in[threadIdx.x] + 1, steps = 0;
    while (n != 1 && steps < 40) n = n & 1 ? 3 * n + 1 : n / 2, ++steps;
    out[threadIdx.x] = steps;
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void branches(int* out, const int* in) {
    int x = in[threadIdx.x];
    if (x < 30) x = x * x + in[63 - threadIdx.x];
    else if (x < 60) x = in[x & 63] - x;
    out[threadIdx.x] = x;
}

//@ 1 | 64 | f32[64] f32[64]=random
extern "C" __global__ void wave_sum(float* out, const float* in) {
    float x = in[threadIdx.x];
    for (int step = 16; step; step /= 2) x += __shfl_xor(x, step, 32);
    out[threadIdx.x] = x;
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void first_lane(int* out, const int* in) {
    int x = in[threadIdx.x];
    out[threadIdx.x] = x + __builtin_amdgcn_readfirstlane(x) * __builtin_amdgcn_readlane(x, 3);
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void lanes_moved(int* out, const int* in) {
    int x = in[threadIdx.x] * 3;
    out[threadIdx.x] = __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, false) + __builtin_amdgcn_ds_swizzle(x, 0x041f);
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void indexed_wave(int* out, const int* in) {
    int x = in[threadIdx.x], sum = 0;
    for (int i = 0; i < 4; ++i) sum += __builtin_amdgcn_readlane(x, __builtin_amdgcn_readfirstlane(x + i) & 31);
    out[threadIdx.x] = sum;
}

//@ 2 | 64 | f32[128] f32[132]=random f32[5]=random
extern "C" __global__ void convolve(float* out, const float* in, const float* weights) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += in[i + k] * weights[k];
    out[i] = sum;
}

//@ 1 | 64 | f32[256] f32[256]=random
extern "C" __global__ void unrolled_copy(float* out, const float* in) {
    float a = in[threadIdx.x], b = in[threadIdx.x + 64], c = in[threadIdx.x + 128], d = in[threadIdx.x + 192];
    out[threadIdx.x] = a + 1, out[threadIdx.x + 64] = b * a, out[threadIdx.x + 128] = c * b, out[threadIdx.x + 192] = d * c;
}

//@ 1 | 64 | f16[64] f16[128]=random
extern "C" __global__ void halves(_Float16* out, const _Float16* in) { out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x + 64] + (_Float16)0.5f; }

//@ 1 | 64 | u8[64] u8[64]=random
extern "C" __global__ void bytes(unsigned char* out, const unsigned char* in) { out[threadIdx.x] = in[63 - threadIdx.x] * 3 + 1; }

//@ 1 | 64 | i32[64] i32[192]=random
extern "C" __global__ void three_loads(int* out, const int* in) {
    struct three { int x, y, z; };
    three v = ((const three*)in)[threadIdx.x];
    out[threadIdx.x] = v.x * v.y ^ v.z;
}

//@ 1 | 128 | f32[128] f32[128]=random
extern "C" __global__ void rounds(float* out, const float* in) {
    __shared__ float part[128];
    float x = in[threadIdx.x];
    for (int i = 0; i < 3; ++i) {
        part[threadIdx.x] = x;
        __syncthreads();
        x = part[(threadIdx.x + 33) & 127] * 0.5f + x;
        __syncthreads();
    }
    out[threadIdx.x] = x;
}

//@ 1 | 128 | f32[128] f32[128]=random
extern "C" __global__ void sort_bitonic(float* out, const float* in) {
    __shared__ float part[128];
    unsigned t = threadIdx.x;
    part[t] = in[t];
    for (unsigned k = 2; k <= 128; k *= 2)
        for (unsigned j = k / 2; j; j /= 2) {
            __syncthreads();
            unsigned other = t ^ j;
            if (other > t) {
                float a = part[t], b = part[other];
                if ((a > b) == ((t & k) == 0)) part[t] = b, part[other] = a;
            }
        }
    __syncthreads();
    out[t] = part[t];
}

//@ 1 | 128 | f32[128] f32[128]=random
extern "C" __global__ void softmax(float* out, const float* in) {
    __shared__ float part[128];
    unsigned t = threadIdx.x;
    float x = in[t], most = x;
    part[t] = x;
    for (unsigned half = 64; half; half /= 2) {
        __syncthreads();
        if (t < half) part[t] = part[t] > part[t + half] ? part[t] : part[t + half];
    }
    __syncthreads();
    most = part[0];
    __syncthreads();
    float e = part[t] = __builtin_amdgcn_exp2f((x - most) * 1.442695f);
    for (unsigned half = 64; half; half /= 2) {
        __syncthreads();
        if (t < half) part[t] += part[t + half];
    }
    __syncthreads();
    out[t] = e / part[0];
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void table(int* out, const int* in) {
    static const __constant__ int squares[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
    out[threadIdx.x] = squares[in[threadIdx.x] & 15] + squares[threadIdx.x & 15];
}

//@ 1 | 64 | i32[64] i32[64]=random i32[1]=5
extern "C" __global__ void through_pointer(int* out, const int* in, const int* by) { out[threadIdx.x] = in[threadIdx.x] * by[0]; }

//@ 2 | 64 | f32[128] f32[128]=random f32[128]=random f32[128]=random
extern "C" __global__ void three_inputs(float* out, const float* a, const float* b, const float* c) {
    int i = blockIdx.x * 64 + threadIdx.x;
    out[i] = a[i] > 0 ? b[i] * c[i] : c[i];
}

//@ 1 | 64 | u32[64] u32[1]=7
extern "C" __global__ void xorshift(unsigned* out, const unsigned* seed) {
    unsigned x = seed[0] + threadIdx.x;
    for (int i = 0; i < 8; ++i) x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    out[threadIdx.x] = x;
}

//@ 1 | 64 | i32[64] i32[64]=random
extern "C" __global__ void called(int* out, const int* in) {
    struct Own { static __device__ __attribute__((noinline)) int fold(int x, int y) { return x * 31 + (y ^ x >> 3); } };
    out[threadIdx.x] = Own::fold(in[threadIdx.x], in[63 - threadIdx.x]);
}

//@ 1 | 64 | f32[64] f32[64]=random
extern "C" __global__ void stencil(float* out, const float* in) {
    __shared__ float part[66];
    unsigned t = threadIdx.x;
    part[t + 1] = in[t];
    if (t == 0) part[0] = part[65] = 0;
    __syncthreads();
    out[t] = part[t] - 2 * part[t + 1] + part[t + 2];
}

//@ 1 | 128 | i32[128] i32[128]=arange
extern "C" __global__ void turns(int* out, const int* in) {
    __shared__ int part[256];
    unsigned t = threadIdx.x;
    part[t] = in[t], part[t + 128] = -in[t];
    __syncthreads();
    int x = part[255 - t] + part[(t * 7 + 3) & 127];
    __syncthreads();
    part[t] = x;
    __syncthreads();
    out[t] = part[t ^ 64];
}

#if defined(__gfx1100__)
//@ 1 | 32 | f32[256] f16[256]=random f16[256]=random
extern "C" __global__ void wmma(float* out, const _Float16* a, const _Float16* b) {
    typedef _Float16 half16 __attribute__((ext_vector_type(16)));
    typedef float float8 __attribute__((ext_vector_type(8)));
    int lane = threadIdx.x & 15;
    half16 x, y;
    for (int i = 0; i < 16; ++i) x[i] = a[lane * 16 + i], y[i] = b[i * 16 + lane];
    float8 sum = {};
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, sum);
    for (int i = 0; i < 8; ++i) out[(i * 2 + threadIdx.x / 16) * 16 + lane] = sum[i];
}
#elif defined(__gfx942__)
//@ 1 | 64 | f32[256] f16[256]=random f16[256]=random
extern "C" __global__ void mfma(float* out, const _Float16* a, const _Float16* b) {
    typedef _Float16 half4 __attribute__((ext_vector_type(4)));
    typedef float float4v __attribute__((ext_vector_type(4)));
    int row = threadIdx.x & 15, part = threadIdx.x / 16;
    half4 x, y;
    for (int i = 0; i < 4; ++i) x[i] = a[row * 16 + part * 4 + i], y[i] = b[(part * 4 + i) * 16 + row];
    float4v sum = {};
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(y, x, sum, 0, 0, 0);
    for (int i = 0; i < 4; ++i) out[(part * 4 + i) * 16 + row] = sum[i] * 2;
}

//@ 1 | 64 | f32[1024] f32[64]=random f32[64]=random
extern "C" __global__ void mfma_wide(float* out, const float* a, const float* b) {
    typedef float float16v __attribute__((ext_vector_type(16)));
    float16v sum = {};
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[threadIdx.x], b[threadIdx.x], sum, 0, 0, 0);
    for (int i = 0; i < 16; ++i) sum[i] *= 2;
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(b[threadIdx.x], a[threadIdx.x], sum, 0, 0, 0);
    for (int i = 0; i < 16; ++i) out[i * 64 + threadIdx.x] = sum[i];
}

//@ 1 | 64 | f64[256] f64[64]=random f64[64]=random
extern "C" __global__ void mfma_double(double* out, const double* a, const double* b) {
    typedef double double4v __attribute__((ext_vector_type(4)));
    double4v sum = {};
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[threadIdx.x], b[threadIdx.x], sum, 0, 0, 0);
    for (int i = 0; i < 4; ++i) out[i * 64 + threadIdx.x] = sum[i] + 1;
}

//@ 1 | 64 | f32[256] f32[64]=random f32[64]=random
extern "C" __global__ void mfma_blocks(float* out, const float* a, const float* b) {
    typedef float float4v __attribute__((ext_vector_type(4)));
    float4v sum = {};
    sum = __builtin_amdgcn_mfma_f32_4x4x1f32(a[threadIdx.x], b[threadIdx.x], sum, 0, 0, 0);
    sum[0] += 1;
    sum = __builtin_amdgcn_mfma_f32_4x4x1f32(sum[0], b[threadIdx.x], sum, 0, 0, 0);
    for (int i = 0; i < 4; ++i) out[i * 64 + threadIdx.x] = sum[i];
}
#endif
