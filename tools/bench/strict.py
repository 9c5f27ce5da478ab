"""The cost of strict mode: kernels of several kinds, as they are and in strict mode, one after the other on one
core."""

import numpy as np

from .emulator import alu_launch, best, check, hip, launch, matmul, repeats, sum_16m, wmma

TRANSPOSE = """\
extern "C" __global__ void transpose(float* out, const float* x) {
    __shared__ float tile[32][33];
    int n = 32 * gridDim.x, col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * n + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) out[(row + i) * n + col] = tile[threadIdx.x][threadIdx.y + i];
}
"""
REDUCE = """\
extern "C" __global__ void reduce(float* out, const float* x) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) part[t] += part[t + half];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
"""
SCAN = """\
extern "C" __global__ void scan(float* out, const float* x) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = x[blockIdx.x * 256 + t];
    sums[t] = sum;
    for (int step = 1; step < 256; step *= 2) {
        __syncthreads();
        float before = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] = sum += before;
    }
    out[blockIdx.x * 256 + t] = sum;
}
"""
WMMA_TILES = """\
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __global__ __launch_bounds__(128) void wmma_tiles(float* c, const _Float16* a, const _Float16* b) {
    constexpr int N = 128, TILE = 32;
    __shared__ _Float16 as[TILE][TILE], bs[TILE][TILE];
    int t = threadIdx.x, lane = t % 32, y = t / 64 * 16, x = t / 32 % 2 * 16;
    int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float8 sum = {};
    for (int k0 = 0; k0 < N; k0 += TILE) {
        for (int e = t; e < TILE * TILE; e += 128) {
            as[e / TILE][e % TILE] = a[(row0 + e / TILE) * N + k0 + e % TILE];
            bs[e % TILE][e / TILE] = b[(k0 + e / TILE) * N + col0 + e % TILE];
        }
        __syncthreads();
        for (int k = 0; k < TILE; k += 16) {
            half16 p = *(const half16*)&as[y + lane % 16][k], q = *(const half16*)&bs[x + lane % 16][k];
            sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, q, sum);
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; r++) c[(row0 + y + 2 * r + lane / 16) * N + col0 + x + lane % 16] = sum[r];
}
"""
PRODUCT = """\
__device__ float times(float a, float b) { return a * b; }
extern "C" __global__ void product(float* c, const float* a, const float* b) {
    int n = 8 * gridDim.x, row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += times(a[row * n + k], b[k * n + col]);
    c[row * n + col] = sum;
}
"""
SORTED = """\
extern "C" __global__ void sorted(float* out, const float* x) {
    float own[16];
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    for (int i = 0; i < 16; i++) own[i] = x[base + i];
    for (int i = 1; i < 16; i++)
        for (int j = i; j > 0 && own[j - 1] > own[j]; j--) {
            float t = own[j];
            own[j] = own[j - 1];
            own[j - 1] = t;
        }
    for (int i = 0; i < 16; i++) out[base + i] = own[i];
}
"""


def timed(quick, strict, source, name, grid, block, out, inputs, want, tolerance, level="-O2"):
    """The best time of a kernel over `inputs`, whose result is `want`."""
    out = np.zeros(out, np.float32)
    image = hip(source, name, options=[level])
    _, times, _ = launch(image, name, grid, block, [out, *inputs], 1, repeats(10 if quick else 30, strict), strict)
    check(name, out, want, tolerance)
    return best(times)


def transpose(quick, strict, level="-O2", tiles=16):
    x = np.random.default_rng(5).random((32 * tiles, 32 * tiles), dtype=np.float32)
    return timed(quick, strict, TRANSPOSE, "transpose", (tiles, tiles, 1), (32, 8, 1), x.shape, [x], x.T, 0, level)


def reduce(quick, strict, level="-O2", groups=512):
    x = np.random.default_rng(6).random((groups, 256), dtype=np.float32)
    return timed(quick, strict, REDUCE, "reduce", (groups, 1, 1), (256, 1, 1), groups, [x], x.sum(1), 1e-5, level)


def scan(quick, strict, groups=512):
    x = np.random.default_rng(10).random((groups, 256), dtype=np.float32)
    return timed(
        quick, strict, SCAN, "scan", (groups, 1, 1), (256, 1, 1), x.shape, [x], x.cumsum(1, dtype=np.float64), 1e-5
    )


def wmma_tiles(quick, strict):
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((128, 128)).astype(np.float16) for _ in range(2))
    want = a.astype(np.float64) @ b.astype(np.float64)
    return timed(quick, strict, WMMA_TILES, "wmma_tiles", (4, 4, 1), (128, 1, 1), (128, 128), [a, b], want, 1e-3)


def product(quick, strict):
    rng = np.random.default_rng(8)
    a, b = (rng.standard_normal((64, 64), dtype=np.float32) for _ in range(2))
    want = a.astype(np.float64) @ b
    return timed(quick, strict, PRODUCT, "product", (8, 8, 1), (8, 8, 1), (64, 64), [a, b], want, 1e-4, "-O0")


def sort(quick, strict):
    x = np.random.default_rng(9).random((1024, 16), dtype=np.float32)
    return timed(quick, strict, SORTED, "sorted", (8, 1, 1), (128, 1, 1), x.shape, [x], np.sort(x), 0, "-O0")


def strict_mode(quick, data):
    """ms, and how many times as long."""
    kernels = {
        "alu_loop": lambda strict: alu_launch(quick, strict)["ms"],
        "sum_2^24_float32_assembly": lambda strict: sum_16m(quick, data, strict)["ms"],
        "matmul_256_float32_hip": lambda strict: matmul(quick, (1,), strict)["threads_1_ms"],
        "matmul_256_float16_wmma": lambda strict: wmma(quick, strict)["ms"],
        "transpose_512_local": lambda strict: transpose(quick, strict),
        "reduce_2^17_local": lambda strict: reduce(quick, strict),
        "scan_2^17_local": lambda strict: scan(quick, strict),
        "matmul_128_float16_wmma_local": lambda strict: wmma_tiles(quick, strict),
        "transpose_128_local_O0": lambda strict: transpose(quick, strict, "-O0", 4),
        "reduce_2^14_local_O0": lambda strict: reduce(quick, strict, "-O0", 64),
        "matmul_64_calls_O0": lambda strict: product(quick, strict),
        "sort_16_private_O0": lambda strict: sort(quick, strict),
    }
    out = {}
    for name, ms in kernels.items():
        off, on = ms(False), ms(True)
        out[name] = {"off_ms": off, "on_ms": on, "ratio": round(on / off, 2)}
    return out
